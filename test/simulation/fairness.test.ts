import { describe, expect, test } from "vitest";
import { project } from "../integration/support/seeded-service.ts";
import { isReady } from "../support/is-ready.ts";
import { json, refusal } from "../support/scripted-service.ts";
import { type Behaviour, Tenants } from "./tenants.ts";

const good = 20;
const bad = 500;
const spec = (branchID: string) => ({ projectID: project, branchID, scaleToZero: { enabled: false } });

/** Answers lists, but never a write, so the sender of each write waits. */
const swallowsWrites: Behaviour = ({ method, path }) => {
  if (method !== "GET") return "silence";
  if (path === "/auth") return { afterMs: 20, answer: json(200, { auth_method: "api_key_user" }) };
  if (path === "/projects") return { afterMs: 20, answer: json(200, { projects: [{ id: "p" }] }) };
  return { afterMs: 20, answer: json(200, path.endsWith("/operations") ? { operations: [] } : { endpoints: [] }) };
};

const neighbours: Readonly<Record<string, { behaviour: Behaviour; connections: number }>> = {
  "is dead": { behaviour: () => "silence", connections: 1 },
  "refuses for an hour (429)": {
    behaviour: () => ({ afterMs: 20, answer: { ...refusal(429), retryAfterMs: 3_600_000 } }),
    connections: 1,
  },
  "fails (500)": { behaviour: () => ({ afterMs: 20, answer: refusal(500) }), connections: 1 },
  "answers after eight seconds": {
    behaviour: (request) => {
      const outcome = swallowsWrites({ ...request, method: "GET" });
      return outcome === "silence" ? outcome : { ...outcome, afterMs: 8000 };
    },
    connections: 1,
  },
  "never answers a write": { behaviour: swallowsWrites, connections: 1 },
  "never answers a write, on 25 connections": { behaviour: swallowsWrites, connections: 25 },
};

/** When each of the good tenant's Computes was ready, in virtual milliseconds after they were declared. */
async function timesToReady(neighbour?: { behaviour: Behaviour; connections: number }): Promise<number[]> {
  const branches = Array.from({ length: good }, (_, n) => `br-${n}`);
  await using tenants = new Tenants();
  tenants.healthy("good.test", branches);
  tenants.tenant("good", "good.test");
  await tenants.clock.advance(2000);
  if (neighbour !== undefined) {
    const { behaviour, connections } = neighbour;
    tenants.behaves("bad.test", behaviour);
    tenants.tenant("bad", "bad.test", { connections });
    for (let n = 0; n < bad; n += 1) {
      const through = n % connections;
      const connectionRef = { name: through === 0 ? "default" : `other-${through}` };
      tenants.declare("bad", `b-${n}`, { projectID: `p-${n}`, branchID: "br-one", connectionRef });
    }
    await tenants.clock.advance(10_000);
  }
  const start = tenants.clock.monotonic();
  for (const [n, branch] of branches.entries()) tenants.declare("good", `g-${n}`, spec(branch));
  const readyAt = new Map<string, number>();
  while (readyAt.size < good && tenants.clock.monotonic() - start < 300_000) {
    await tenants.clock.advance(50);
    for (const compute of tenants.computes("good")) {
      const { name } = compute.metadata;
      if (!readyAt.has(name) && isReady(compute)) readyAt.set(name, tenants.clock.monotonic() - start);
    }
  }
  return [...readyAt.values()].toSorted((a, b) => a - b);
}

describe("the time until 20 Computes are ready, beside 500 of a tenant whose service", async () => {
  const alone = await timesToReady();

  test.each(Object.entries(neighbours))("%s", async (_, neighbour) => {
    const beside = await timesToReady(neighbour);
    expect(beside).toHaveLength(good);
    expect(beside.at(-1)).toBeLessThanOrEqual(1.1 * (alone.at(-1) ?? 0));
  });
});
