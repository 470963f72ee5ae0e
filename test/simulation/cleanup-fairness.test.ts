import { expect, test } from "vitest";
import { project } from "../integration/support/seeded-service.ts";
import { isReady } from "../support/is-ready.ts";
import { json, refusal } from "../support/scripted-service.ts";
import { type Behaviour, Tenants } from "./tenants.ts";

const computes = (namespace: string) => `/apis/compute-operator.dev/v1alpha1/namespaces/${namespace}/computes`;
const branches = ["br-0", "br-1", "br-2"];
const spec = { requestBudget: { perMinute: 100_000, burst: 1000 } };

/** Makes one endpoint in each project; once it is mute, no DELETE and no GET of an endpoint is answered. */
function goesMute(): { behaviour: Behaviour; mute: () => void } {
  const made = new Map<string, object>();
  let mute = false;
  const behaviour: Behaviour = ({ method, path, body }) => {
    const [, , projectID = "", , id] = path.split("/");
    if (mute && (method === "DELETE" || id !== undefined)) return "silence";
    const answer = (status: number, value: object) => ({ afterMs: 20, answer: json(status, value) });
    if (path === "/auth") return answer(200, { auth_method: "api_key_org" });
    if (path === "/projects") return answer(200, { projects: [] });
    if (path.endsWith("/operations")) return answer(200, { operations: [] });
    if (method === "GET" && path.endsWith("/endpoints")) {
      const one = made.get(projectID);
      return answer(200, { endpoints: one === undefined ? [] : [one] });
    }
    if (method !== "POST") return { afterMs: 20, answer: refusal(404) };
    const fields = typeof body === "object" && body !== null && "endpoint" in body ? body.endpoint : {};
    const endpoint = { id: `ep-${projectID}`, project_id: projectID, current_state: "active", ...Object(fields) };
    made.set(projectID, endpoint);
    return answer(201, { endpoint, operations: [] });
  };
  return {
    behaviour,
    mute: () => {
      mute = true;
    },
  };
}

/** How long, in virtual milliseconds, a tenant's deleted connection waits for its Computes to be gone. */
async function timeToLeave(neighbours: number): Promise<number> {
  await using tenants = new Tenants();
  const { clock, server } = tenants;
  const { behaviour, mute } = goesMute();
  tenants.healthy("good.test", branches);
  tenants.behaves("mute.test", behaviour);
  tenants.tenant("good", "good.test", { spec });
  tenants.tenant("mute", "mute.test", { spec });
  await clock.advance(2000);
  for (let n = 0; n < neighbours; n += 1) {
    tenants.declare("mute", `m-${n}`, { projectID: `p-${n}`, branchID: "br", type: "read_only" });
  }
  for (const branchID of branches) tenants.declare("good", branchID, { projectID: project, branchID });
  const all = () => [...tenants.computes("mute"), ...tenants.computes("good")];
  while (!all().every(isReady) && clock.monotonic() < 600_000) await clock.advance(5000);
  expect(all().every(isReady)).toBe(true);
  mute();
  for (const { metadata } of tenants.computes("mute")) {
    const path = `${computes("mute")}/${metadata.name}`;
    const { finalizers: _, annotations: __, ...bare } = tenants.send("GET", path).metadata;
    // As kubectl replace does it, and then the deletion is instant.
    server.handle({ method: "PUT", path, body: { ...tenants.send("GET", path), metadata: bare } });
    tenants.send("DELETE", path);
  }
  await clock.advance(30_000);
  const start = clock.monotonic();
  for (const branchID of branches) tenants.send("DELETE", `${computes("good")}/${branchID}`);
  const connection = "/apis/compute-operator.dev/v1alpha1/namespaces/good/serviceconnections/default";
  tenants.send("DELETE", connection);
  const stands = () => server.handle({ method: "GET", path: connection }).status !== 404;
  while (stands() && clock.monotonic() - start < 60_000) await clock.advance(20);
  return clock.monotonic() - start;
}

test("a tenant that leaves waits for its own endpoints alone, whatever 300 others left at a service that is mute", async () => {
  const alone = await timeToLeave(0);
  expect(await timeToLeave(300)).toBeLessThanOrEqual(2 * alone);
});
