// `node test/deploy/previous/record.ts CHECKOUT` writes the files beside this one again: what the operator and the
// service of that checkout of an earlier version (with its dependencies installed) leave on a real control plane.
import { copyFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { EndpointsAnswer } from "../../../src/api/endpoint.ts";
import { startControlPlane } from "../../control-plane/control-plane.ts";
import { crdsServed } from "../../control-plane/crds.ts";
import { apply as applyObjects, kubectl } from "../../control-plane/kubectl.ts";
import { compute, connection, goodKey, keySecret } from "../../e2e/manifests.ts";
import { Child } from "../../support/child.ts";
import { eventually } from "../../support/eventually.ts";
import { endEverything, temporaryDirectory } from "../../support/guardian.ts";
import { freePort } from "../../support/ports.ts";
import { formerURL, nameDatabase, project, seedWith } from "../restored.ts";

const [checkout] = process.argv.slice(2);
if (checkout === undefined) throw new Error("say which checkout of an earlier version is to be recorded");
const crds = ["computes", "serviceconnections", "computepools"].map((name) => `${name}.yaml`);
const readOnly = { type: "read_only", branchID: "br-one" };

const controlPlane = await startControlPlane();
await controlPlane.startControllerManager();
const cluster = controlPlane.admin;
for (const crd of crds) await kubectl(["apply", "-f", join(checkout, "crds", crd)], cluster);
await crdsServed(cluster);
await kubectl(["create", "namespace", "shop"], cluster);

const port = String(await freePort());
const baseURL = `http://127.0.0.1:${port}/api/v2`;
const seed = join(temporaryDirectory("seed").path, "seed.yaml");
writeFileSync(
  seed,
  seedWith(
    ["br-main", "br-named", "br-one", "br-two", "br-three", "br-four"],
    [
      { id: "ep-main", branchID: "br-main", type: "read_write" },
      { id: "ep-named", branchID: "br-named", type: "read_write" },
    ],
  ),
);
const service = await start("service", "--port", port, "--seed", seed, "--faults", "--time-scale", "20");
await service.waitForLine(/Listening on http/);
await nameDatabase(baseURL);
const operator = await start("run", "--kubeconfig", cluster.kubeconfig, "--http-port=0", "--allowed-base-url", baseURL);

await apply(keySecret(goodKey), connection(baseURL));
await declare("adopted", {
  branchID: "br-main",
  adopt: { branchPrimary: true },
  computeUnits: { min: 0.25, max: 2 },
  scaleToZero: { enabled: true, after: "10m" },
});
await declare("named", { branchID: "br-named", adopt: { endpointID: "ep-named" }, deletionPolicy: "Retain" });
await declare("created", {
  branchID: "br-one",
  computeUnits: { min: 4, max: 4 },
  scaleToZero: { enabled: false },
  postgresSettings: { work_mem: "8MB" },
  connectionSecret: { name: "shop-db", database: "shop", role: "app" },
});
await declare("moved", { branchID: "br-two" });
await ready("adopted", "named", "created", "moved");
await declare("moved", { branchID: "br-three" });
await declare("restarted", readOnly);
await declare("reported", { ...readOnly, driftPolicy: "Report", computeUnits: { min: 1, max: 1 } });
await declare("off", { ...readOnly, disabled: true, passwordlessAccess: false, pooler: { enabled: true } });
await declare("paused", { type: "read_only", branchID: "br-two" });
await declare("refused", { branchID: "br-main" });
const template = { projectID: project, branchID: "br-main", computeUnits: { min: 0.5, max: 1 } };
await apply({
  apiVersion: "compute-operator.dev/v1alpha1",
  kind: "ComputePool",
  metadata: { name: "readers" },
  spec: { replicas: 2, template },
});
await inShop("wait", "computepool/readers", "--for=jsonpath={.status.readyReplicas}=2", "--timeout=120s");
await ready("moved", "restarted", "reported", "off", "paused");
await inShop("annotate", "compute/restarted", "compute-operator.dev/restartedAt=monday");
await inShop("wait", "compute/restarted", "--for=jsonpath={.status.restartedAt}=monday", "--timeout=60s");
const drifted = await inShop("get", "compute", "reported", "-o", "jsonpath={.status.endpointID}");
const larger = { endpoint: { autoscaling_limit_min_cu: 2, autoscaling_limit_max_cu: 2 } };
await callService("PATCH", `/api/v2/projects/${project}/endpoints/${drifted}`, larger);
const reason = 'jsonpath={.status.conditions[?(@.type=="Ready")].reason}';
await inShop("wait", "compute/reported", `--for=${reason}=Drifted`, "--timeout=60s");
await inShop("annotate", "compute/paused", "compute-operator.dev/paused=true");
// Until all that suspends has done so, and the operator has seen it.
await sleep(30_000);

// The operator ends between a create and its answer.
const late = [{ method: "POST", route: "/projects/{p}/endpoints", kind: "delay", ms: 4000, count: 1 }];
await callService("PUT", "/_faults", late);
await declare("pending", { branchID: "br-four", type: "read_only" });
const pending = await inShop("get", "compute", "pending", "-o", "jsonpath={.metadata.uid}");
const list = () => callService("GET", `/api/v2/projects/${project}/endpoints`);
await eventually("the create", async () => (await list()).includes(pending) || undefined, { everyMs: 50 });
await operator.kill();

const shown = await inShop("get", "secrets,serviceconnections,computes,computepools", "-o", "json");
const { items } = z.object({ items: z.array(z.looseObject({ metadata: z.looseObject({}) })) }).parse(JSON.parse(shown));
const objects = items.map(({ metadata, ...object }) => {
  const { managedFields: _, resourceVersion: __, creationTimestamp: ___, annotations, ...kept } = metadata;
  const { "kubectl.kubernetes.io/last-applied-configuration": ____, ...own } = z
    .record(z.string(), z.string())
    .parse(annotations ?? {});
  return { ...object, metadata: { ...kept, ...(Object.keys(own).length > 0 && { annotations: own }) } };
});
save("objects.json", JSON.stringify(objects, null, 2).replaceAll(baseURL, formerURL));
save("endpoints.json", JSON.stringify(EndpointsAnswer.parse(JSON.parse(await list())).endpoints, null, 2));
for (const crd of crds) copyFileSync(join(checkout, "crds", crd), join(import.meta.dirname, "crds", crd));
console.log(`recorded ${objects.length} objects; now npm run format, and say in README.md which version it was`);
await endEverything();
process.exit(0);

/** A program of the earlier version. */
function start(command: string, ...args: string[]): Promise<Child> {
  const program = [join(checkout ?? "", "src/main.ts"), command, ...args];
  return Child.start({ name: command, command: join(checkout ?? "", "node_modules/.bin/node"), args: program });
}

function inShop(...args: string[]): Promise<string> {
  return kubectl(["--namespace=shop", ...args], cluster);
}

async function apply(...items_: object[]): Promise<void> {
  await applyObjects(items_, cluster, ["--namespace=shop"]);
}

function declare(name: string, spec: { branchID: string } & Record<string, unknown>): Promise<void> {
  return apply(compute(name, { projectID: project, ...spec }));
}

async function ready(...names: string[]): Promise<void> {
  await inShop("wait", "--for=condition=Ready", "--timeout=120s", ...names.map((name) => `compute/${name}`));
}

async function callService(method: string, path: string, body?: unknown): Promise<string> {
  const answer = await fetch(new URL(path, baseURL), {
    method,
    headers: { authorization: `Bearer ${goodKey}` },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  if (!answer.ok) throw new Error(`${method} ${path} is answered ${answer.status}: ${await answer.text()}`);
  return answer.text();
}

function save(name: string, text: string): void {
  writeFileSync(join(import.meta.dirname, name), `${text}\n`);
}
