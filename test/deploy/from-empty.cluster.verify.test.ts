import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import { needsTools, runTool } from "../tools/tools.ts";
import { Installation } from "./installation.ts";
import { kustomize } from "./render.ts";
import { grantedRights, usedRights } from "./rights.ts";

needsTools("promtool");

// One story, in order: an empty control plane, what deploy/ ships, and the image as its Deployment starts it.

let installation: Installation;
beforeAll(async () => {
  installation = await Installation.start({ args: ["--faults"] });
});
afterAll(() => installation?.[Symbol.asyncDispose]());

/** What the Deployment leaves the operator to end in. */
const gracePeriodMs =
  1000 *
  Number(
    /terminationGracePeriodSeconds: (\d+)/.exec(readFileSync("deploy/base/workload/deployment.yaml", "utf8"))?.[1],
  );
const run = (...args: string[]) => installation.kubectl("-n", "shop", ...args);
const ready = (...objects: string[]) => installation.ready(...objects);
const patch = (object: string, fields: object) => run("patch", object, "--type=merge", "-p", JSON.stringify(fields));

/**
 * While the operator stands still: its finalizer is dropped, so the Compute is gone before anybody can put that back.
 */
async function replaceAndDeleteAtOnce(name: string): Promise<void> {
  const { kind, apiVersion, metadata, spec, status } = JSON.parse(await run("get", "compute", name, "-o", "json"));
  const { pid } = installation.operator.child;
  process.kill(pid, "SIGSTOP");
  await installation.replace({ kind, apiVersion, metadata: { name, namespace: metadata.namespace }, spec });
  await run("delete", "compute", name, "--timeout=5s");
  process.kill(pid, "SIGCONT");
  await eventually("a Warning that names the endpoint which stays", async () => {
    const events = await run(
      "get",
      "events",
      "--field-selector=reason=Released,type=Warning",
      "-o",
      "jsonpath={..message}",
    );
    return events.includes(status.endpointID) || undefined;
  });
  expect(await installation.endpoints()).toContain(status.endpointID);
  const path = `/projects/shiny-wind-028834/endpoints/${status.endpointID}`;
  expect((await installation.service.send("DELETE", path)).status).toBe(200);
}

/** A Compute through a ClusterServiceConnection, from its creation to its end. */
async function useSharedKey(): Promise<void> {
  const apiVersion = "compute-operator.dev/v1alpha1";
  const type = "compute-operator.dev/api-key";
  const place = { name: "shared", namespace: "compute-operator-system" };
  const connection = {
    baseURL: installation.counter.baseURL,
    apiKeySecretRef: { name: "shared" },
    namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "shop" } },
    allowedProjects: ["*"],
  };
  const project = { projectID: "shiny-wind-028834", branchID: "br-preview-1", type: "read_only" };
  const spec = { ...project, connectionRef: { kind: "ClusterServiceConnection", name: "shared" } };
  await installation.apply(
    { apiVersion: "v1", kind: "Secret", metadata: place, type, stringData: { "api-key": "org-key" } },
    { apiVersion, kind: "ClusterServiceConnection", metadata: { name: "shared" }, spec: connection },
    { apiVersion, kind: "Compute", metadata: { name: "shared", namespace: "shop" }, spec },
  );
  await ready("compute/shared");
  await run("delete", "compute/shared", "--timeout=60s");
  await installation.kubectl("delete", "csconn/shared", "--timeout=60s");
}

describe("from an empty control plane", () => {
  it("kubectl apply -k deploy, the operator and the samples are all that it takes", async () => {
    await installation.install("deploy");
    await installation.applySamples();
    await ready("serviceconnection/default");
    await installation.samplesReady();
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
    const secret = { name: "shop-db", database: "neondb", role: "neondb_owner" };
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

    await useSharedKey();
    await replaceAndDeleteAtOnce("shop-reports");

    const granted = grantedRights(await kustomize("deploy"));
    const neededByPlugin = "update computepools/finalizers.compute-operator.dev";
    // Asked only after a patch that was refused, to learn whether the version still stands.
    const neededAfterRefusal = "get computes.compute-operator.dev";
    granted.delete(neededAfterRefusal);
    await eventually(
      "every right to be used",
      () => {
        const { used } = usedRights(installation.cluster.auditLogFile);
        return [...granted].every((right) => used.has(right) || right === neededByPlugin) || undefined;
      },
      { timeoutMs: 20_000 },
    ).catch(() => undefined);
    const { used, refused } = usedRights(installation.cluster.auditLogFile);
    expect([...refused]).toEqual([]);
    expect([...granted].filter((right) => !used.has(right))).toEqual([neededByPlugin]);
  });

  it("a scrape of its metrics keeps to Prometheus's conventions and fills the dashboard", async () => {
    const scrape = await (await fetch(`${installation.operator.url}/metrics`)).text();
    const { stdout, stderr } = await runTool("promtool", ["check", "metrics"], scrape);
    const complaints = `${stdout}${stderr}`.split("\n").filter((line) => line.startsWith("compute_operator_"));
    // Compute-unit hours are what the service bills by.
    expect(complaints.filter((line) => !line.startsWith("compute_operator_compute_unit_hours"))).toEqual([]);
    const shown = readFileSync("deploy/monitoring/dashboard.json", "utf8").matchAll(/\bcompute_operator_\w+/g);
    const names = new Set([...shown].map(([name]) => name));
    const empty = [...names].filter((name) => !new RegExp(`^${name}[{ ]`, "m").test(scrape));
    // These two count what goes wrong.
    expect(empty.filter((name) => !/_(queue_retries|watch_restarts)_total$/.test(name))).toEqual([]);
  });

  it("stopped in the middle of a create it waits for the answer, writes it down and gives the lease back; the next creates nothing twice", async () => {
    const held = { method: "POST", route: "/projects/{id}/endpoints", kind: "delay", ms: 2500, count: 1 };
    await installation.service.setFaults([held]);
    installation.counter.clear();
    const stopped = new Promise<number>((resolve) => {
      const stopListening = installation.counter.onRequest(({ method }) => {
        if (method !== "POST") return;
        stopListening();
        process.kill(installation.operator.child.pid, "SIGTERM");
        resolve(performance.now());
      });
    });
    const spec = { projectID: "shiny-wind-028834", branchID: "br-preview-1", type: "read_only" };
    const apiVersion = "compute-operator.dev/v1alpha1";
    await installation.apply({ apiVersion, kind: "Compute", metadata: { name: "late", namespace: "shop" }, spec });
    const began = await stopped;
    expect(await installation.operator.child.end).toEqual({ status: 0, signal: null });
    const took = performance.now() - began;
    expect(took).toBeGreaterThan(2000);
    expect(took).toBeLessThan(gracePeriodMs / 2);

    const late = JSON.parse(await run("get", "compute", "late", "-o", "json"));
    const linked = late.metadata.annotations["compute-operator.dev/endpoint-id"];
    expect(await installation.endpoints()).toContain(linked);
    expect(late.status.endpointID).toBe(linked);
    const holder = "jsonpath={.spec.holderIdentity}";
    expect(await run("get", "lease", "compute-operator", "-n", "compute-operator-system", "-o", holder)).toBe("");

    await installation.startOperator(await kustomize("deploy"));
    await ready("compute/late");
    expect(installation.counter.writes.map(({ method }) => method)).toEqual(["POST"]);
  });

  it("uninstalling deletes nothing at the service: kubectl delete -k crds lets every Compute go", async () => {
    const before = await installation.endpoints();
    installation.counter.clear();
    await installation.kubectl("delete", "-k", "crds", "--timeout=60s");
    expect(await installation.endpoints()).toEqual(before);
    expect(installation.counter.writes).toEqual([]);
  });

  it("stops in order and at once where nothing is in flight, and gives the lease back", async () => {
    const began = performance.now();
    process.kill(installation.operator.child.pid, "SIGTERM");
    expect(await installation.operator.child.end).toEqual({ status: 0, signal: null });
    expect(performance.now() - began).toBeLessThan(5000);
    const lease = await run("get", "lease", "compute-operator", "-n", "compute-operator-system", "-o", "json");
    expect(JSON.parse(lease).spec.holderIdentity ?? "").toBe("");
  });
});
