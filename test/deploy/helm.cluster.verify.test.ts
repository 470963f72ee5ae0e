import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { needsTools, runTool } from "../tools/tools.ts";
import { Installation } from "./installation.ts";
import { chart, helm, installNamespace } from "./render.ts";

needsTools("helm");

// One story, in order.

let installation: Installation;
beforeAll(async () => {
  installation = await Installation.start();
});
afterAll(() => installation?.[Symbol.asyncDispose]());

/** Runs helm on the installation's cluster and resolves with its output. */
async function onCluster(...args: string[]): Promise<string> {
  const where = ["--namespace", installNamespace, "--kubeconfig", installation.cluster.kubeconfig];
  const { status, stdout, stderr } = await runTool("helm", [...args, ...where]);
  if (status !== 0) throw new Error(stderr);
  return stdout;
}

describe("with Helm", () => {
  it("installing the chart is all that the operator and the samples need", async () => {
    await onCluster("install", "compute-operator", chart, "--create-namespace");
    await installation.startOperator(await helm());
    await installation.applySamples();
    await installation.samplesReady();
    expect(await installation.endpoints()).toHaveLength(5);
  });

  it("an upgrade brings CRDs up to date", async () => {
    const crd = "crd/computes.compute-operator.dev";
    const short = { spec: { names: { plural: "computes", kind: "Compute", listKind: "ComputeList", categories: [] } } };
    await installation.kubectl("patch", crd, "--type=merge", "-p", JSON.stringify(short));
    await onCluster("upgrade", "compute-operator", chart, "--force-conflicts");
    const categories = await installation.kubectl("get", crd, "-o", "jsonpath={.spec.names.categories}");
    expect(JSON.parse(categories)).toEqual(["compute-operator"]);
  });

  it("uninstalling it deletes no Compute, and nothing at the service", async () => {
    const before = await installation.endpoints();
    installation.counter.clear();
    expect(await onCluster("uninstall", "compute-operator", "--wait")).toContain("uninstalled");
    expect(await installation.endpoints()).toEqual(before);
    expect(installation.counter.writes).toEqual([]);
    const deleted = "jsonpath={.items[*].metadata.deletionTimestamp}";
    expect(await installation.kubectl("get", "computes,serviceconnections,computepools", "-A", "-o", deleted)).toBe("");
    expect(await installation.kubectl("get", "computes", "-n", "shop", "-o", "name")).toContain("shop-primary");
  });

  it("CRDs deleted after the operator wait for it, and come free without a deletion at the service", async () => {
    await installation.operator[Symbol.asyncDispose]();
    // Not to wait for the lease of the one that was ended.
    await installation.kubectl("delete", "lease", "--all", "-n", installNamespace);
    const before = await installation.endpoints();
    installation.counter.clear();
    await installation.kubectl("delete", "-k", "crds", "--wait=false");
    // What no finalizer holds goes at once: installed before it has gone, it would go afterwards.
    for (const name of ["clusterserviceconnections", "computepools"])
      await installation.kubectl("wait", "--for=delete", `crd/${name}.compute-operator.dev`, "--timeout=60s");
    await installation.install("deploy");
    await installation.kubectl("wait", "--for=delete", "crd/computes.compute-operator.dev", "--timeout=60s");
    expect(await installation.endpoints()).toEqual(before);
    expect(installation.counter.writes).toEqual([]);
  });
});
