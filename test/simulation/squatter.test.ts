import { expect, test } from "vitest";
import { goodKey, project } from "../integration/support/seeded-service.ts";
import { isReady } from "../support/is-ready.ts";
import { refusal } from "../support/scripted-service.ts";
import { Tenants } from "./tenants.ts";

// A tenant who reaches nothing of another's project names its branch first, and types the finalizer, from which a
// record of a create is made up.

const group = "/apis/compute-operator.dev/v1alpha1/namespaces";
const baseURL = "http://good.test/api/v2";
const ownKey = `${goodKey}-1`;

test.each([
  ["without any key", "nobody's"],
  ["with a key of its own", "own"],
  ["with a key of its own, paused", "paused"],
])("a typed finalizer holds no branch of another tenant: %s", async (_, kind) => {
  await using tenants = new Tenants();
  const { clock } = tenants;
  tenants.healthy("good.test", ["br-0", "br-1"], (key) =>
    key === ownKey ? refusal(404, "project not found") : undefined,
  );
  tenants.tenant("good", "good.test");
  tenants.tenant("evil", "good.test", { connections: 2 });
  await clock.advance(3000);
  tenants.declare("good", "first", { projectID: project, branchID: "br-1" });
  const connectionRef = { name: kind === "nobody's" ? "keyless" : "other-1" };
  tenants.send("POST", `${group}/evil/serviceconnections`, {
    apiVersion: "compute-operator.dev/v1alpha1",
    kind: "ServiceConnection",
    metadata: { name: "keyless" },
    spec: { baseURL, apiKeySecretRef: { name: "none" } },
  });
  tenants.declare("evil", "squat", { projectID: project, branchID: "br-0", connectionRef });
  await clock.advance(5000);
  const path = `${group}/evil/computes/squat`;
  const squat = tenants.send("GET", path);
  squat.metadata.finalizers = ["compute-operator.dev/endpoint"];
  if (kind === "paused") squat.metadata.annotations = { "compute-operator.dev/paused": "true" };
  expect(tenants.server.handle({ method: "PUT", path, body: squat }).status).toBe(200);
  await clock.advance(60_000);
  tenants.declare("good", "primary", { projectID: project, branchID: "br-0" });
  await clock.advance(60_000);
  expect(tenants.computes("good").map(isReady)).toEqual([true, true]);
});

test.each([
  ["whose connection has no budget to list the project", 1, { status: 404 }],
  ["whose key the service keeps throttled", 700, { status: 429, retryAfterMs: 60_000 }],
  ["whose lists the service answers with errors", 700, { status: 500 }],
])("an older Compute holds no branch of another tenant: one %s", async (_, perMinute, answer) => {
  await using tenants = new Tenants();
  const { clock } = tenants;
  const body = { code: "", message: "not now" };
  tenants.healthy("good.test", ["br-0"], (key) => (key === ownKey ? { json: true, body, ...answer } : undefined));
  tenants.tenant("good", "good.test");
  tenants.tenant("evil", "good.test", { connections: 2 });
  const connectionRef = { name: "slow" };
  tenants.send("POST", `${group}/evil/serviceconnections`, {
    apiVersion: "compute-operator.dev/v1alpha1",
    kind: "ServiceConnection",
    metadata: connectionRef,
    spec: { baseURL, apiKeySecretRef: { name: "service-api-key-1" }, requestBudget: { perMinute, burst: perMinute } },
  });
  await clock.advance(3000);
  for (let n = 0; n < 20; n += 1) {
    tenants.declare("evil", `line-${n}`, { projectID: `p-${n}`, branchID: "br-0", connectionRef });
  }
  await clock.advance(1000);
  tenants.declare("evil", "squat", { projectID: project, branchID: "br-0", connectionRef });
  await clock.advance(5000);
  tenants.declare("good", "primary", { projectID: project, branchID: "br-0" });
  await clock.advance(60_000);
  expect(tenants.computes("good").map(isReady)).toEqual([true]);
});
