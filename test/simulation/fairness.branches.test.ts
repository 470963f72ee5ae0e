import { expect, test } from "vitest";
import { project } from "../integration/support/seeded-service.ts";
import { json } from "../support/scripted-service.ts";
import { type Behaviour, Tenants } from "./tenants.ts";

const good = 20;
const bad = 200;

/** Answers lists, but never a write, so the sender of each write waits. */
const swallowsWrites: Behaviour = ({ method, path }) => {
  if (method !== "GET") return "silence";
  const main = { id: "br-main", name: "main", default: true, current_state: "ready" };
  const lists = { projects: [{ id: "p" }], operations: [], branches: [main], endpoints: [] };
  const asked = path.slice(path.lastIndexOf("/") + 1);
  const found = Object.entries(lists).filter(([name]) => name === asked);
  return {
    afterMs: 20,
    answer: json(200, asked === "auth" ? { auth_method: "api_key_user" } : Object.fromEntries(found)),
  };
};

/** When each of the good tenant's Branches was ready, in virtual milliseconds after they were declared. */
async function timesToReady(isBesideBad: boolean): Promise<number[]> {
  await using tenants = new Tenants();
  const branches = (namespace: string) => `/apis/compute-operator.dev/v1alpha1/namespaces/${namespace}/branches`;
  const declare = (namespace: string, name: string, spec: object) => {
    const kind = { apiVersion: "compute-operator.dev/v1alpha1", kind: "Branch" };
    tenants.send("POST", branches(namespace), { ...kind, metadata: { name }, spec });
  };
  tenants.healthy("good.test", []);
  tenants.tenant("good", "good.test");
  if (isBesideBad) {
    tenants.behaves("bad.test", swallowsWrites);
    tenants.tenant("bad", "bad.test");
    for (let n = 0; n < bad; n += 1) declare("bad", `b-${n}`, { projectID: `p-${n}`, expiry: { after: "2h" } });
  }
  await tenants.clock.advance(10_000);
  const start = tenants.clock.monotonic();
  for (let n = 0; n < good; n += 1) declare("good", `g-${n}`, { projectID: project, expiry: { after: "2h" } });
  const readyAt = new Map<string, number>();
  while (readyAt.size < good && tenants.clock.monotonic() - start < 300_000) {
    await tenants.clock.advance(50);
    for (const { metadata, status } of tenants.send("GET", branches("good")).items) {
      const ready = status?.conditions?.find(({ type }: { type: string }) => type === "Ready");
      if (ready?.status === "True" && !readyAt.has(metadata.name)) {
        readyAt.set(metadata.name, tenants.clock.monotonic() - start);
      }
    }
  }
  return [...readyAt.values()].toSorted((a, b) => a - b);
}

test("20 Branches are ready as soon beside 200 of a tenant whose service never answers a write", async () => {
  const alone = await timesToReady(false);
  const beside = await timesToReady(true);
  expect(beside).toHaveLength(good);
  expect(beside.at(-1)).toBeLessThanOrEqual(1.1 * (alone.at(-1) ?? 0));
});
