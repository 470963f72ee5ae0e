import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { z } from "zod";
import type { ControlPlane } from "../control-plane/control-plane.ts";
import { startWithCrds } from "../control-plane/crds.ts";
import { kubectl } from "../control-plane/kubectl.ts";
import { eventually } from "../support/eventually.ts";
import { temporaryDirectory } from "../support/guardian.ts";
import { OperatorProcess, ServiceProcess } from "../support/processes.ts";
import { blocksOf } from "./blocks.ts";
import { commandsFor } from "./commands.ts";
import { Shell } from "./shell.ts";

// What docs/kubectl.md types, as a user who may edit Computes and Branches and read Secrets of one namespace.

const directory = temporaryDirectory("plugin");
let cluster: ControlPlane;
let service: ServiceProcess;
let operator: OperatorProcess;
let shell: Shell;

const admin = () => cluster.admin;

beforeAll(async () => {
  const seed = readFileSync("deploy/samples/service-seed.yaml", "utf8");
  [cluster, service] = await Promise.all([startWithCrds(), ServiceProcess.start({ seed, timeScale: 20 })]);
  await kubectl(["apply", "-k", "deploy/base/shared"], admin());
  await kubectl(["apply", "-k", "deploy/samples"], admin());
  const patch = async (object: string, spec: object) => {
    await kubectl(["patch", object, "-n", "shop", "--type=merge", "-p", JSON.stringify({ spec })], admin());
  };
  await patch("sconn/default", { baseURL: service.baseURL });
  const path = "/projects/shiny-wind-028834/branches/br-aged-salad-637688/databases";
  const Databases = z.object({ databases: z.array(z.object({ name: z.string(), owner_name: z.string() })) });
  const [database] = Databases.parse(await service.call("GET", path)).databases;
  if (database === undefined) throw new Error("the branch has no database");
  await patch("compute/shop-primary", {
    connectionSecret: { name: "shop-db", database: database.name, role: database.owner_name },
  });
  operator = await OperatorProcess.start({
    kubeconfig: cluster.kubeconfig,
    allowedBaseURLs: [service.baseURL],
    namespaces: ["shop"],
  });
  for (const each of ["compute", "brn"])
    await kubectl(["wait", each, "--all", "-n", "shop", "--for=condition=Ready", "--timeout=120s"], admin());
  await kubectl(["create", "role", "ana-secrets", "-n", "shop", "--verb=get", "--resource=secrets"], admin());
  await kubectl(["create", "rolebinding", "ana", "-n", "shop", "--role=ana-secrets", "--user=ana"], admin());
  await kubectl(
    [
      "create",
      "role",
      "ana",
      "-n",
      "shop",
      "--verb=get,patch",
      "--resource=computes.compute-operator.dev,branches.compute-operator.dev",
    ],
    admin(),
  );
  await kubectl(["create", "rolebinding", "ana-objects", "-n", "shop", "--role=ana", "--user=ana"], admin());
  const psql = join(directory.path, "psql");
  writeFileSync(psql, '#!/bin/sh\necho "psql $* to $PGHOST as $PGUSER, password of ${#PGPASSWORD} characters"\n', {
    mode: 0o755,
  });
  const programs = { kubectl: cluster.binaries.kubectl, psql };
  const kubeconfig = await cluster.kubeconfigFor({ name: "ana" });
  // A right takes effect a moment after it is stored.
  for (const right of ["get secrets", "patch branches.compute-operator.dev"]) {
    const asked = ["auth", "can-i", ...right.split(" "), "-n", "shop"];
    await eventually(`ana's right to ${right}`, () => kubectl(asked, { ...admin(), kubeconfig }));
  }
  shell = new Shell(programs, { KUBECONFIG: kubeconfig });
});

afterAll(async () => {
  shell?.[Symbol.dispose]();
  await operator?.[Symbol.asyncDispose]();
  await Promise.all([service?.[Symbol.asyncDispose](), cluster?.stop()]);
  directory.remove();
});

const lines = commandsFor("test/docs/plugin.cluster.verify.test.ts").filter(({ place }) => place !== "inline");

it.each([
  [
    "status",
    /^Compute shop\/shop-primary is ready\n {2}what +\w+, read_write, 0\.25–2 CU, branch br-aged-salad-637688/,
  ],
  ["restart", /asked for a restart of Compute shop\/shop-primary\n(.*\n)*restarted Compute shop\/shop-primary/],
  ["pause", /^paused Compute shop\/shop-primary until \d{4}-\d\d-\d\dT[\d:]+Z$/m],
  ["resume", /^resumed Compute shop\/shop-primary$/m],
  [
    "disrupt",
    /^connections of Compute shop\/shop-primary may be cut until \d{4}-\d\d-\d\dT[\d:]+Z: no change waits for that$/m,
  ],
  ["psql", /^psql -c select 1 to ep-shop-primary\S* as \w+, password of [1-9]\d* characters$/m],
  ["reset", /asked for a reset of Branch shop\/pr-42\n(.*\n)*reset Branch shop\/pr-42/],
])("kubectl compute-operator %s, as the page types it, does what it says", async (verb, said) => {
  const [line] = lines.filter(({ text }) => text.startsWith(`kubectl compute-operator ${verb} `));
  const { status, output } = await shell.type(line?.text ?? "");
  expect({ status, output }).toEqual({ status: 0, output: expect.stringMatching(said) });
});

it("status shows the rows that the page shows, in their order", async () => {
  const [page = ""] = blocksOf("docs/kubectl.md", "console");
  const labels = (text: string) => [...text.matchAll(/^ {2}(\w+) {2}/gm)].map(([, label]) => label);
  const { output } = await shell.type("kubectl compute-operator status shop-primary -n shop");
  expect(labels(output).filter((label) => labels(page).includes(label))).toEqual(labels(page));
});

it("a pause keeps a change from the service until its time is over, and then sends it", async () => {
  const type = async (line: string) => expect(await shell.type(line)).toMatchObject({ status: 0 });
  await type("kubectl compute-operator pause shop-preview -n shop --for 1h");
  await kubectl(
    [
      "patch",
      "compute",
      "shop-preview",
      "-n",
      "shop",
      "--type=merge",
      "-p",
      '{"spec":{"computeUnits":{"min":2,"max":2}}}',
    ],
    admin(),
  );
  const size = () =>
    kubectl(["get", "compute", "shop-preview", "-n", "shop", "-o", "jsonpath={.status.computeUnits.max}"], admin());
  await kubectl(
    [
      "wait",
      "compute/shop-preview",
      "-n",
      "shop",
      '--for=jsonpath={.status.conditions[?(@.type=="Ready")].reason}=Paused',
      "--timeout=20s",
    ],
    admin(),
  );
  expect(await size()).toBe("1");
  // A shorter time in its place, because nobody waits an hour here.
  await type("kubectl compute-operator pause shop-preview -n shop --for 1s");
  await kubectl(
    ["wait", "compute/shop-preview", "-n", "shop", "--for=jsonpath={.status.computeUnits.max}=2", "--timeout=60s"],
    admin(),
  );
});
