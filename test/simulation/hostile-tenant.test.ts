import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Compute } from "../../src/operator/resources/compute.ts";
import { project } from "../integration/support/seeded-service.ts";
import { isReady } from "../support/is-ready.ts";
import { json } from "../support/scripted-service.ts";
import type { JsonObject } from "./api-server/objects.ts";
import { type Behaviour, Tenants } from "./tenants.ts";

// One tenant with two thousand Computes that are to do harm, beside another's ten. What it costs is counted, not timed.

const evil = 2000;
const connections = 20;
const branches = Array.from({ length: 10 }, (_, n) => `br-${n}`);
const wishes = (branchID: string) => ({ projectID: project, branchID, scaleToZero: { enabled: false } });

/** Lists well, and keeps every write waiting. */
const keepsWaiting: Behaviour = ({ method, path }) => {
  if (method !== "GET") return "silence";
  const everything = { auth_method: "api_key_user", projects: [], endpoints: [], operations: [], path };
  return { afterMs: 20, answer: json(200, everything) };
};

/** References into the void, claims to what is another's, projects without number, annotations without end. */
function harm(n: number): { spec: JsonObject; metadata: JsonObject } {
  const theirs = { projectID: project, branchID: branches[n % branches.length] ?? "" };
  const through = { connectionRef: { name: n % connections === 0 ? "default" : `other-${n % connections}` } };
  const annotations = { note: n % 100 === 0 ? "x".repeat(200_000) : "", "compute-operator.dev/endpoint-id": "../.." };
  const specs: JsonObject[] = [
    { ...theirs, connectionRef: { name: `nowhere-${n}` } },
    { ...theirs, ...through },
    { projectID: `p-${n}`, branchID: "br-x", ...through },
    { ...theirs, ...through, adopt: { endpointID: "ep-theirs" } },
    { ...theirs, connectionRef: { name: "internal" } },
    { ...theirs, connectionRef: { name: "of-another" } },
  ];
  return { spec: specs[n % specs.length] ?? {}, metadata: { annotations } };
}

/** Virtual milliseconds until the good tenant's Computes are ready. */
async function timeToReady(tenants: Tenants): Promise<number> {
  const start = tenants.clock.monotonic();
  for (const [n, branch] of branches.entries()) tenants.declare("good", `g-${n}`, wishes(branch));
  while (!tenants.computes("good").every(isReady) && tenants.clock.monotonic() - start < 120_000) {
    await tenants.clock.advance(100);
  }
  return tenants.clock.monotonic() - start;
}

async function withGoodTenant(): Promise<Tenants> {
  const tenants = new Tenants();
  tenants.healthy("good.test", branches);
  tenants.tenant("good", "good.test");
  await tenants.clock.advance(2000);
  return tenants;
}

let tenants: Tenants;
let alone: number;
let beside: number;
let theirs: Compute[];

beforeAll(async () => {
  await using quiet = await withGoodTenant();
  alone = await timeToReady(quiet);
  tenants = await withGoodTenant();
  tenants.behaves("evil.test", keepsWaiting);
  tenants.tenant("evil", "evil.test", { connections });
  const connection = "/apis/compute-operator.dev/v1alpha1/namespaces/evil/serviceconnections";
  const ways = {
    internal: { baseURL: "http://169.254.169.254/api/v2", apiKeySecretRef: { name: "service-api-key-0" } },
    "of-another": { baseURL: "http://evil.test/api/v2", apiKeySecretRef: { name: "a-token" } },
  };
  tenants.send("POST", "/api/v1/namespaces/evil/secrets", {
    metadata: { name: "a-token" },
    type: "kubernetes.io/service-account-token",
    data: { "api-key": Buffer.from("a-stolen-token").toString("base64") },
  });
  for (const [name, spec] of Object.entries(ways)) {
    const kind = "ServiceConnection";
    tenants.send("POST", connection, { apiVersion: "compute-operator.dev/v1alpha1", kind, metadata: { name }, spec });
  }
  for (let n = 0; n < evil; n += 1) {
    const { spec, metadata } = harm(n);
    tenants.declare("evil", `e-${n}`, spec, metadata);
  }
  await tenants.clock.advance(30_000);
  beside = await timeToReady(tenants);
  theirs = tenants.computes("evil");
}, 120_000);
afterAll(() => tenants?.[Symbol.asyncDispose]());

async function metric(pattern: RegExp): Promise<number> {
  const lines = (await tenants.metrics()).split("\n").filter((line) => pattern.test(line));
  return lines.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
}

describe("two thousand Computes that are to do harm", () => {
  test("delay another tenant's by next to nothing", () => {
    expect(tenants.computes("good").every(isReady)).toBe(true);
    expect(beside).toBeLessThanOrEqual(1.2 * alone);
  });

  test("cost their connections no more reconciles than there are Computes", async () => {
    expect(await metric(/^compute_operator_reconcile_total\{kind="connection"/)).toBeLessThan(1.5 * evil);
  });

  test("write no more than a few times each, and log hardly a line", () => {
    const writes = [...tenants.written].filter(([what]) => !what.startsWith("GET "));
    expect(writes.reduce((sum, [, count]) => sum + count, 0)).toBeLessThan(6 * evil);
    expect(tenants.lines).toBeLessThan(evil);
  });

  test("show messages of a bounded length, and none that holds a key", () => {
    const messages = theirs.flatMap(({ status }) => status.conditions?.map(({ message }) => message) ?? []);
    expect(messages.length).toBeGreaterThan(100);
    expect(messages.filter((message) => Buffer.byteLength(message) > 1024)).toEqual([]);
    expect(messages.filter((message) => /a-stolen-token|org-key/.test(message))).toEqual([]);
  });

  test("reach no service but their own", () => {
    expect([...tenants.requests.keys()].toSorted()).toEqual(["evil.test", "good.test"]);
  });

  test("cannot flood the monitoring", async () => {
    const text = await tenants.metrics();
    expect(text.split("\n").filter((line) => line.startsWith("compute_operator_")).length).toBeLessThan(1500);
  });
});
