import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ControlPlane, startControlPlane } from "../control-plane/control-plane.ts";
import { crdsServed } from "../control-plane/crds.ts";
import { kubectl } from "../control-plane/kubectl.ts";
import { needsTools, runTool } from "../tools/tools.ts";
import { chart } from "./render.ts";

needsTools("helm");

// One story, in order: installations one after another on a cluster, whose CRDs and Computes stay.

let cluster: ControlPlane;
beforeAll(async () => {
  cluster = await startControlPlane();
  await cluster.startControllerManager();
});
afterAll(() => cluster?.stop());

const onCluster = (...args: string[]) => kubectl(args, cluster.admin);

async function helm(...args: string[]) {
  const { status, stdout, stderr } = await runTool("helm", [...args, "--kubeconfig", cluster.kubeconfig]);
  return { status, said: `${stdout}${stderr}` };
}

const install = (release: string, namespace: string, ...values: string[]) =>
  helm("install", release, chart, "-n", namespace, "--create-namespace", ...values);

/** The commands that a refusal names. */
const commandsIn = (said: string) => [...said.matchAll(/^\s+kubectl (.+)$/gm)].map(([, line = ""]) => line.split(" "));

const names = () => onCluster("get", "computes", "-A", "-o", "name");

describe("an installation after another on the same cluster", () => {
  it("under another name and in another namespace is refused with the commands that hand the CRDs over", async () => {
    expect(await install("first", "one")).toMatchObject({ status: 0 });
    await onCluster("create", "namespace", "shop");
    await crdsServed(cluster.admin);
    await onCluster("apply", "-f", "deploy/samples/computes.yaml");
    expect(await helm("uninstall", "first", "-n", "one", "--wait")).toMatchObject({ status: 0 });
    const { status, said } = await install("second", "two");
    expect(status).not.toBe(0);
    expect(said).toContain("belongs to the release first in the namespace one. If that installation is gone, hand");
    const commands = commandsIn(said);
    expect(commands).toHaveLength(2);
    for (const command of commands) await onCluster(...command);
    expect(await install("second", "two")).toMatchObject({ status: 0 });
    expect(await names()).toContain("compute.compute-operator.dev/shop-primary");
  });

  it("beside one that is still there is refused with the ways, and works without the CRDs and under names of its own", async () => {
    const { status, said } = await install("second", "three");
    expect(status).not.toBe(0);
    expect(said).toContain(
      "the ClusterRole second-compute-operator belongs to the release second in the namespace two",
    );
    expect(said).toContain("Remove that installation first with `helm uninstall NAME -n NAMESPACE`");
    const beside = ["--set", "fullnameOverride=third,crds.enabled=false"];
    expect(await install("second", "three", ...beside)).toMatchObject({ status: 0 });
    expect(await helm("uninstall", "second", "-n", "three", "--wait")).toMatchObject({ status: 0 });
  });

  it("with kustomize after Helm is applied as it is, and with Helm after kustomize is refused until that is removed", async () => {
    expect(await helm("uninstall", "second", "-n", "two", "--wait")).toMatchObject({ status: 0 });
    expect(await onCluster("apply", "-k", "deploy")).toContain("deployment.apps/compute-operator created");
    const [release, namespace] = ["compute-operator", "compute-operator-system"];
    const refused = await install(release, namespace);
    expect(refused.said).toContain(
      "belongs to no Helm release, but to what kubectl applied. Remove that installation first",
    );
    expect(refused.said).toContain("`kubectl delete -k deploy/base`");
    await onCluster("delete", "-k", "deploy/base");
    const { said } = await install(release, namespace);
    expect(said).toContain("hand the CRDs over");
    for (const command of commandsIn(said)) await onCluster(...command);
    expect(await install(release, namespace)).toMatchObject({ status: 0 });
    expect(await names()).toContain("compute.compute-operator.dev/shop-primary");
  });

  it("an installation is upgraded and installed again under the same name without a question", async () => {
    const [release, namespace] = ["compute-operator", "compute-operator-system"];
    expect(await helm("upgrade", release, chart, "-n", namespace)).toMatchObject({ status: 0 });
    expect(await helm("uninstall", release, "-n", namespace, "--wait")).toMatchObject({ status: 0 });
    expect(await install(release, namespace)).toMatchObject({ status: 0 });
  });
});
