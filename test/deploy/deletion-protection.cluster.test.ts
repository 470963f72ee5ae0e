import { beforeAll, describe, expect, it } from "vitest";
import { apply, createNamespace, kubectl, tryKubectl } from "../control-plane/shared-control-plane.ts";
import { manifest } from "../operator/resources/manifest.ts";
import { eventually } from "../support/eventually.ts";

let namespace = "";
beforeAll(async () => {
  namespace = await createNamespace("protection");
  await kubectl(["apply", "-k", "deploy/base/deletion-protection"]);
  // A policy takes effect a moment after it is stored.
  await apply([inNamespace(manifest("Compute", { deletionProtection: true }, "probe"))]);
  await eventually("the policy to take effect", async () => {
    const { status } = await tryKubectl(["delete", "compute", "probe", "-n", namespace, "--dry-run=server"]);
    return status === 0 ? undefined : "refused";
  });
});

function inNamespace<M extends { metadata: object }>(object: M) {
  return { ...object, metadata: { ...object.metadata, namespace } };
}

const remove = (...args: string[]) => tryKubectl(["delete", "-n", namespace, "--timeout=30s", ...args]);

describe("deletion protection", () => {
  it("refuses kubectl delete with what to do, until it is taken away", async () => {
    await apply([inNamespace(manifest("Compute", { deletionProtection: true }, "shop-primary"))]);
    expect((await remove("compute", "shop-primary")).stderr).toContain(
      `Compute ${namespace}/shop-primary is protected from deletion: set spec.deletionProtection to false first`,
    );
    await apply([inNamespace(manifest("Compute", { deletionProtection: false }, "shop-primary"))]);
    expect((await remove("compute", "shop-primary")).stdout).toContain("deleted");
  });

  it("lets a Compute go that does not ask for it", async () => {
    await apply([inNamespace(manifest("Compute", {}, "shop-preview"))]);
    expect((await remove("compute", "shop-preview")).stdout).toContain("deleted");
  });

  it("the deletion protection of a pool's template protects the pool", async () => {
    const template = { projectID: "p", branchID: "br-b", deletionProtection: true };
    await apply([inNamespace(manifest("ComputePool", { template }, "readers"))]);
    expect((await remove("computepool", "readers")).stderr).toContain(
      `ComputePool ${namespace}/readers is protected from deletion: set spec.template.deletionProtection to false first`,
    );
  });

  it("holds against deleting all at once", async () => {
    await apply([inNamespace(manifest("Compute", { deletionProtection: true }, "among-many"))]);
    const all = `/apis/compute-operator.dev/v1alpha1/namespaces/${namespace}/computes`;
    expect((await tryKubectl(["delete", "--raw", all])).stderr).toContain("is protected from deletion");
    expect(await kubectl(["get", "compute", "among-many", "-n", namespace, "-o", "name"])).toContain("among-many");
  });

  it("does not hold up a change of the Compute", async () => {
    const change = inNamespace(
      manifest("Compute", { deletionProtection: true, branchID: "br-preview-1" }, "among-many"),
    );
    expect(await apply([change])).toContain("configured");
  });
});
