import { expect, test } from "vitest";
import { conditionOf } from "../../src/operator/objects/conditions-of.ts";
import { goodKey, project } from "../integration/support/seeded-service.ts";
import { isReady } from "../support/is-ready.ts";
import { json, refusal } from "../support/scripted-service.ts";
import { Tenants } from "./tenants.ts";

// A tenant runs a service of its own, which says what the tenant likes, and then leads its connection to another's.

const group = "/apis/compute-operator.dev/v1alpha1/namespaces";
const strangeKey = `${goodKey}-1`;

/** The tenant's connection leads to the service of others from now on, with a key that reaches nothing there. */
function leadAway(tenants: Tenants): void {
  const secret = tenants.send("GET", "/api/v1/namespaces/evil/secrets/service-api-key-0");
  const data = { "api-key": Buffer.from(strangeKey).toString("base64") };
  tenants.send("PUT", "/api/v1/namespaces/evil/secrets/service-api-key-0", { ...secret, data });
  const path = `${group}/evil/serviceconnections/default`;
  const connection = tenants.send("GET", path);
  const spec = { ...connection.spec, baseURL: "http://good.test/api/v2" };
  tenants.send("PUT", path, { ...connection, spec });
}

function declareBranch(tenants: Tenants, namespace: string, name: string, spec: object = {}): void {
  const whole = { projectID: project, expiry: { never: true }, ...spec };
  const kind = { apiVersion: "compute-operator.dev/v1alpha1", kind: "Branch" };
  tenants.send("POST", `${group}/${namespace}/branches`, { ...kind, metadata: { name }, spec: whole });
}

function twoTenants(tenants: Tenants) {
  const unknown = (key: string) => (key === strangeKey ? refusal(404, "project not found") : undefined);
  tenants.healthy("good.test", ["br-0"], unknown);
  const own = tenants.healthy("own.test", ["br-0"]);
  tenants.tenant("good", "good.test");
  tenants.tenant("evil", "own.test");
  return own;
}

test("an endpoint at a tenant's own service keeps nobody from a branch of the same id at another", async () => {
  await using tenants = new Tenants();
  const { clock } = tenants;
  twoTenants(tenants);
  await clock.advance(3000);
  tenants.declare("evil", "squat", { projectID: project, branchID: "br-0" });
  await clock.advance(60_000);
  expect(tenants.computes("evil").map(isReady)).toEqual([true]);
  leadAway(tenants);
  await clock.advance(60_000);
  tenants.declare("good", "primary", { projectID: project, branchID: "br-0" });
  await clock.advance(30_000);
  expect(tenants.computes("good").map(isReady)).toEqual([true]);
});

test("a branch that was at a tenant's own service keeps nobody from its name at another", async () => {
  await using tenants = new Tenants();
  const { clock } = tenants;
  const own = twoTenants(tenants);
  await clock.advance(3000);
  declareBranch(tenants, "evil", "squat", { branchName: "good/pr-1" });
  await clock.advance(10_000);
  const { branchID } = tenants.send("GET", `${group}/evil/branches/squat`).status;
  const headers = { authorization: `Bearer ${goodKey}` };
  own.call({ method: "DELETE", path: `/api/v2/projects/${project}/branches/${branchID}`, query: {}, headers });
  await clock.advance(120_000);
  expect(tenants.send("GET", `${group}/evil/branches/squat`).status.gone).toMatchObject({ branchID });
  leadAway(tenants);
  await clock.advance(60_000);
  declareBranch(tenants, "good", "pr-1");
  await clock.advance(30_000);
  expect(conditionOf(tenants.send("GET", `${group}/good/branches/pr-1`).status, "Ready")?.reason).toBe("Available");
});

/** The tenant's service answers its create with this id, and the object then names the connection that is shared. */
async function withForgedID(tenants: Tenants, id: string) {
  const { clock } = tenants;
  const good = tenants.healthy("good.test", []);
  tenants.share("shared", "good.test", { perMinute: 700, burst: 40 });
  const shown: object[] = [{ id: "br-main", name: "main", default: true, current_state: "ready" }];
  const answerTo = (method: string, asked: string | undefined) => {
    if (asked === "endpoints") return json(200, { endpoints: [] });
    if (asked === "auth") return json(200, { auth_method: "api_key_user" });
    if (asked !== "branches") return json(200, { projects: [{ id: project }] });
    if (method === "GET") return json(200, { branches: shown });
    const branch = { id, name: "evil/thief", parent_id: "br-main", current_state: "ready" };
    shown.push(branch);
    return json(201, { branch, operations: [] });
  };
  tenants.behaves("own.test", ({ method, path }) => ({
    afterMs: 20,
    answer: answerTo(method, path.split("/").at(-1)),
  }));
  tenants.tenant("evil", "own.test");
  await clock.advance(3000);
  declareBranch(tenants, "evil", "thief");
  await clock.advance(20_000);
  const path = `${group}/evil/branches/thief`;
  const object = tenants.send("GET", path);
  expect(object.status.proof).toMatchObject({ branchID: id, by: "created" });
  const connectionRef = { kind: "ClusterServiceConnection", name: "shared" };
  tenants.send("PUT", path, { ...object, spec: { ...object.spec, connectionRef } });
  await clock.advance(20_000);
  const branch = () => {
    const headers = { authorization: `Bearer ${goodKey}` };
    const { body = "" } = good.call({
      method: "GET",
      path: `/api/v2/projects/${project}/branches/${id}`,
      query: {},
      headers,
    });
    return JSON.parse(body).branch;
  };
  return { path, branch };
}

test("a branch whose id a tenant's own service gave for its own is not deleted at another", async () => {
  await using tenants = new Tenants();
  const { path, branch } = await withForgedID(tenants, "br-staging");
  const before = branch();
  tenants.send("DELETE", path);
  await tenants.clock.advance(120_000);
  expect(branch()).toEqual(before);
  expect(tenants.server.handle({ method: "GET", path }).status).toBe(404);
});

test("a branch whose id a tenant's own service gave for its own is neither reset nor given an end at another", async () => {
  await using tenants = new Tenants();
  const { path, branch } = await withForgedID(tenants, "br-staging");
  const before = branch();
  const object = tenants.send("GET", path);
  const annotations = { "compute-operator.dev/resetAt": "now" };
  const metadata = { ...object.metadata, annotations };
  tenants.send("PUT", path, { ...object, metadata, spec: { ...object.spec, expiry: { after: "1h" } } });
  await tenants.clock.advance(120_000);
  expect(branch()).toEqual(before);
  expect(conditionOf(tenants.send("GET", path).status, "Ready")).toMatchObject({
    reason: "Conflict",
    message: expect.stringMatching(/another base URL .* Put the base URL back, or delete this object/),
  });
});

test("endpoints that only a tenant's own service has shown make no mass loss of another's one", async () => {
  await using tenants = new Tenants();
  const { clock } = tenants;
  const branches = Array.from({ length: 7 }, (_, n) => `br-${n}`);
  const good = tenants.healthy("good.test", branches);
  tenants.healthy("own.test", branches);
  tenants.share("shared", "good.test", { perMinute: 700, burst: 40 });
  tenants.tenant("good", "good.test");
  tenants.tenant("evil", "own.test");
  const connectionRef = { kind: "ClusterServiceConnection", name: "shared" };
  await clock.advance(3000);
  tenants.declare("good", "primary", { projectID: project, branchID: "br-0", connectionRef });
  const theirs = branches.slice(1);
  for (const branchID of theirs) tenants.declare("evil", branchID, { projectID: project, branchID });
  await clock.advance(60_000);
  for (const name of theirs) tenants.edit("evil", name, { connectionRef });
  await clock.advance(60_000);
  const id = tenants.computes("good")[0]?.status.endpointID ?? "";
  const headers = { authorization: `Bearer ${goodKey}` };
  good.call({ method: "DELETE", path: `/api/v2/projects/${project}/endpoints/${id}`, query: {}, headers });
  await clock.advance(120_000);
  expect(tenants.computes("good").map(isReady)).toEqual([true]);
  expect(tenants.computes("good")[0]?.status.endpointID).not.toBe(id);
});
