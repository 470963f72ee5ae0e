import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import { writesBy } from "./audit.ts";
import { type ControlPlane, startControlPlane } from "./control-plane.ts";
import { kubectl } from "./kubectl.ts";
import { createNamespace, kubectl as kubectlOnShared, tryKubectl } from "./shared-control-plane.ts";

describe("the control plane that a run shares", () => {
  it("the shared control plane is Kubernetes 1.36", async () => {
    expect(await kubectlOnShared(["version"])).toMatch(/Server Version: v1\.36\./);
  });

  it("gives each test a namespace, which ends when it is deleted", async () => {
    const namespace = await createNamespace();
    await kubectlOnShared(["delete", "namespace", namespace, "--timeout=60s"]);
    expect((await tryKubectl(["get", "namespace", namespace])).stderr).toContain("NotFound");
  });
});

describe("a control plane of one's own", () => {
  let own: ControlPlane;
  beforeAll(async () => {
    own = await startControlPlane();
  });
  afterAll(() => own.stop());

  const run = (...args: string[]) => kubectl(args, own.admin);

  it("keeps address and data over a restart of API server and etcd", async () => {
    await run("create", "configmap", "kept");
    const { url } = own;
    await own.killApiServer();
    await own.restartEtcd();
    await own.restartApiServer();
    expect(own.url).toBe(url);
    expect(await run("get", "configmap", "kept", "-o", "name")).toBe("configmap/kept\n");
  });

  it("answers a watch from before a compaction with 410", async () => {
    const before = (await run("get", "namespace", "default", "-o", "jsonpath={.metadata.resourceVersion}")).trim();
    await run("create", "configmap", "later");
    await own.compactEtcd();
    await own.restartApiServer();
    const watch = `/api/v1/configmaps?watch=true&timeoutSeconds=2&resourceVersion=${before}`;
    expect(await run("get", "--raw", watch)).toContain('"code":410');
  });

  it("lets another user do only what RBAC grants", async () => {
    const kubeconfig = await own.kubeconfigFor({ name: "ana", groups: ["readers"] });
    const asAna = (...args: string[]) => kubectl(args, { kubeconfig, kubectl: own.binaries.kubectl });
    await expect(asAna("get", "configmaps")).rejects.toThrow('User "ana" cannot list resource "configmaps"');
    await run("create", "clusterrole", "reader", "--verb=list", "--resource=configmaps");
    await run("create", "clusterrolebinding", "readers", "--clusterrole=reader", "--group=readers");
    const list = await eventually("ana to be let in", () => asAna("get", "configmaps", "-o", "name"));
    expect(list).toContain("configmap/kept");
  });

  it("a control plane of one's own has a record of each write, by user", async () => {
    const kubeconfig = await own.kubeconfigFor({ name: "bob", groups: ["system:masters"] });
    const asBob = (...args: string[]) => kubectl(args, { kubeconfig, kubectl: own.binaries.kubectl });
    await asBob("create", "configmap", "written");
    await asBob("get", "configmap", "written");
    const writes = await eventually("the audit log", () => {
      const found = writesBy("bob", own.auditLogFile);
      return found.length > 0 ? found : undefined;
    });
    expect(writes).toMatchObject([{ verb: "create", objectRef: { resource: "configmaps", name: "written" } }]);
  });
});
