import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { type ControlPlane, startControlPlane } from "../control-plane/control-plane.ts";
import { kubectl } from "../control-plane/kubectl.ts";
import { eventually } from "../support/eventually.ts";
import { ServiceProcess } from "../support/processes.ts";
import { Image } from "./image.ts";
import { InstalledOperator } from "./installed.ts";
import { kustomize, type Rendered } from "./render.ts";
import { grantedRights, usedRights } from "./rights.ts";

// One story, told in order: an empty control plane, what deploy/ ships, and the image as its Deployment starts it.

let cluster: ControlPlane;
let service: ServiceProcess;
let image: Image;
let operator: InstalledOperator;

beforeAll(async () => {
  image = new Image();
  [cluster, service] = await Promise.all([
    startControlPlane(),
    ServiceProcess.start({ seed: readFileSync("deploy/samples/service-seed.yaml", "utf8"), timeScale: 20 }),
  ]);
  await cluster.startControllerManager();
});

afterAll(async () => {
  await operator?.[Symbol.asyncDispose]();
  await Promise.all([cluster?.stop(), service?.[Symbol.asyncDispose]()]);
  image[Symbol.dispose]();
});

const all = (...args: string[]) => kubectl(args, { kubeconfig: cluster.kubeconfig, kubectl: cluster.binaries.kubectl });
const run = (...args: string[]) => all("-n", "shop", ...args);
const ready = (...objects: string[]) => run("wait", "--for=condition=Ready", "--timeout=60s", ...objects);
const specOf = (object: Rendered) => z.record(z.string(), z.unknown()).parse(object["spec"]);

/** The samples, with a connection to the service of this test. */
async function applySamples(): Promise<void> {
  const samples = await kustomize("deploy/samples");
  const connected = { baseURL: service.baseURL, refreshInterval: "5s" };
  const items = samples.map((object) =>
    object.kind === "ServiceConnection" ? { ...object, spec: { ...specOf(object), ...connected } } : object,
  );
  const input = JSON.stringify({ apiVersion: "v1", kind: "List", items });
  await kubectl(["apply", "-f", "-"], { kubeconfig: cluster.kubeconfig, kubectl: cluster.binaries.kubectl, input });
}

const patch = (object: string, fields: object) => run("patch", object, "--type=merge", "-p", JSON.stringify(fields));

describe("from an empty control plane", () => {
  it("kubectl apply -k deploy, the operator and the samples are all that it takes", async () => {
    await all("apply", "-k", "deploy");
    await all("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s");
    operator = await InstalledOperator.start({ controlPlane: cluster, image, objects: await kustomize("deploy") });
    await operator.ready();
    await applySamples();
    await ready("serviceconnection/default");
    await ready("compute/shop-primary", "compute/shop-preview", "compute/shop-reports", "computepool/shop-readers");
    const shown = await run("get", "computes", "--no-headers", "-o", "custom-columns=:.metadata.name,:.status.type");
    expect(
      shown
        .trim()
        .split("\n")
        .map((line) => line.split(/ +/)),
    ).toEqual([
      ["shop-preview", "read_write"],
      ["shop-primary", "read_write"],
      ["shop-readers-0", "read_only"],
      ["shop-readers-1", "read_only"],
      ["shop-reports", "read_only"],
    ]);
  });

  it("the lease has the name and namespace that the documents say", async () => {
    const holder = "jsonpath={.spec.holderIdentity}";
    expect(await run("get", "lease", "compute-operator", "-n", "compute-operator-system", "-o", holder)).toMatch(
      /^compute-operator-0_/,
    );
  });

  it("each right that is granted is used, and none is missed, over the life of the samples", async () => {
    await patch("computepool/shop-readers", { spec: { replicas: 1 } });
    const secret = { name: "shop-db", database: "shop", role: "app" };
    await patch("compute/shop-preview", { spec: { connectionSecret: secret } });
    await eventually("the connection Secret", () => run("get", "secret", "shop-db", "-o", "name"));
    await run("label", "secret", "shop-db", "note=kept");
    await patch("secret/shop-db", { data: { host: "d3Jvbmc=" } });
    await eventually("the connection Secret to be repaired", async () =>
      (await run("get", "secret", "shop-db", "-o", "jsonpath={.data.host}")) === "d3Jvbmc=" ? undefined : "repaired",
    );
    await patch("compute/shop-preview", { spec: { connectionSecret: null } });
    for (const value of ["one", "two"]) {
      await run("annotate", "--overwrite", "compute/shop-reports", `compute-operator.dev/restartedAt=${value}`);
      await run("wait", `--for=jsonpath={.status.restartedAt}=${value}`, "compute/shop-reports", "--timeout=30s");
      await ready("compute/shop-reports");
    }
    await run("delete", "compute/shop-preview", "--timeout=60s");
    await eventually("the pool to shrink", async () =>
      (await run("get", "computes", "-o", "name")).includes("shop-readers-1") ? undefined : "gone",
    );

    const granted = grantedRights(await kustomize("deploy"));
    const neededByPlugin = "update computepools/finalizers.compute-operator.dev";
    await eventually(
      "every right to be used",
      () => {
        const { used } = usedRights(cluster.auditLogFile);
        return [...granted].every((right) => used.has(right) || right === neededByPlugin) || undefined;
      },
      { timeoutMs: 20_000 },
    ).catch(() => undefined);
    const { used, refused } = usedRights(cluster.auditLogFile);
    expect([...refused]).toEqual([]);
    expect([...granted].filter((right) => !used.has(right))).toEqual([neededByPlugin]);
  });

  it("stops in order within the grace period, and gives the lease back", async () => {
    process.kill(operator.child.pid, "SIGTERM");
    expect(await operator.child.end).toEqual({ status: 0, signal: null });
    const lease = await run("get", "lease", "compute-operator", "-n", "compute-operator-system", "-o", "json");
    expect(JSON.parse(lease).spec.holderIdentity ?? "").toBe("");
  });
});
