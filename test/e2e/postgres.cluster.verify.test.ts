import { afterAll, beforeAll, expect, it } from "vitest";
import { stringify } from "yaml";
import { z } from "zod";
import { apply, kubeconfig, kubectl } from "../control-plane/shared-control-plane.ts";
import { nodePostgres } from "../service/postgres/node-postgres.ts";
import { asRoot } from "../service/postgres/rig.ts";
import { freePort } from "../support/ports.ts";
import { OperatorProcess, ServiceProcess } from "../support/processes.ts";
import { administratorsKey } from "./manifests.ts";
import { connectedNamespace } from "./process-stage.ts";
import { sharedCluster } from "./shared-cluster.ts";

const project = "shop-on-postgres";
const branch = "br-shop-main";

const seed = stringify({
  accounts: [{ id: "acc-ana", email: "ana@example.com", plan: "scale", apiKeys: [{ name: "laptop", key: "ana-key" }] }],
  projects: [{ id: project, owner: "acc-ana", branches: [{ id: branch, name: "main" }] }],
});

let service: ServiceProcess;
let operator: OperatorProcess;
let namespace: string;
beforeAll(async () => {
  nodePostgres();
  const port = String(await freePort());
  service = await ServiceProcess.start({ seed, args: ["--postgres", "--postgres-port", port, ...asRoot] });
  const connected = { baseURL: service.baseURL, key: administratorsKey };
  namespace = await connectedNamespace("postgres", sharedCluster(), connected);
  operator = await OperatorProcess.start({
    kubeconfig: kubeconfig(),
    allowedBaseURLs: [service.baseURL],
    namespaces: [namespace],
  });
  await apply([compute("primary", { adopt: { branchPrimary: true } })]);
  await ready("primary");
});
afterAll(async () => {
  await operator?.[Symbol.asyncDispose]();
  await service?.[Symbol.asyncDispose]();
});

function compute(name: string, spec: object): object {
  const connectionSecret = { name: `${name}-db`, database: "neondb", role: "neondb_owner" };
  const whole = { projectID: project, branchID: branch, connectionSecret, ...spec };
  return { apiVersion: "compute-operator.dev/v1alpha1", kind: "Compute", metadata: { name, namespace }, spec: whole };
}

async function ready(name: string): Promise<void> {
  await kubectl(["wait", `compute/${name}`, "-n", namespace, "--for=condition=Ready", "--timeout=120s"]);
}

async function patch(name: string, spec: object): Promise<void> {
  await kubectl(["patch", "compute", name, "-n", namespace, "--type=merge", "-p", JSON.stringify({ spec })]);
}

async function field(kind: string, name: string, path: string): Promise<string> {
  return kubectl(["get", kind, name, "-n", namespace, `-o=jsonpath={${path}}`]);
}

async function secret(name: string): Promise<Record<string, string>> {
  const data = z.record(z.string(), z.string()).parse(JSON.parse(await field("secret", `${name}-db`, ".data")));
  return Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value, "base64").toString()]));
}

/** Runs a statement with the URI of a Compute's connection Secret as it is. */
async function query(name: string, sql: string): Promise<Record<string, unknown>[]> {
  const { Client } = nodePostgres();
  const client = new Client({ connectionString: (await secret(name))["uri"] ?? "" });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

const rows = [{ what: "a row" }];

it("the branch has a row that was written with the URI of the connection Secret", async () => {
  await query("primary", "CREATE TABLE kept (what text)");
  await query("primary", "INSERT INTO kept VALUES ('a row')");
  expect(await query("primary", "TABLE kept")).toEqual(rows);
});

it("names address and options in the Secret, as they are in its URI", async () => {
  const { host, port, options, uri = "", username } = await secret("primary");
  expect([host, port, username]).toEqual(["127.0.0.1", new URL(uri).port, "neondb_owner"]);
  expect(options).toBe(`endpoint=${await field("compute", "primary", ".status.endpointID")}`);
});

it("keeps the row over a resize", async () => {
  await patch("primary", { computeUnits: { min: 2, max: 2 } });
  await expect
    .poll(() => query("primary", "SHOW max_connections"), { timeout: 60_000 })
    .toEqual([{ max_connections: "901" }]);
  await ready("primary");
  expect(await query("primary", "TABLE kept")).toEqual(rows);
});

it("keeps the row over a restart", async () => {
  const restart = "compute-operator.dev/restartedAt=monday";
  await kubectl(["annotate", "compute", "primary", "-n", namespace, restart]);
  const restarted = "--for=jsonpath={.status.restartedAt}=monday";
  await kubectl(["wait", "compute/primary", "-n", namespace, restarted, "--timeout=120s"]);
  // Until then the server may still end under a query.
  await ready("primary");
  expect(await query("primary", "TABLE kept")).toEqual(rows);
});

it("keeps the row over a kill -9 of the operator", async () => {
  await operator.child.kill();
  await operator.start();
  await ready("primary");
  expect(await query("primary", "TABLE kept")).toEqual(rows);
});

it("keeps the row over a kill -9 of the service", async () => {
  await service.kill();
  await service.start();
  expect(await query("primary", "TABLE kept")).toEqual(rows);
  await ready("primary");
});

it("serves the row from a replica", async () => {
  await apply([compute("replica", { type: "read_only" })]);
  await ready("replica");
  await expect.poll(() => query("replica", "TABLE kept").catch(() => []), { timeout: 30_000 }).toEqual(rows);
});

it("a new branch has the row, and its changes stay there", async () => {
  const preview = { branch: { name: "preview", parent_id: branch } };
  const answer = await service.call("POST", `/projects/${project}/branches`, preview, administratorsKey);
  const created = z.object({ branch: z.looseObject({ id: z.string() }) }).parse(answer);
  await apply([compute("preview", { branchID: created.branch.id })]);
  await ready("preview");
  expect(await query("preview", "TABLE kept")).toEqual(rows);
  await query("preview", "DELETE FROM kept");
  expect(await query("primary", "TABLE kept")).toEqual(rows);
});
