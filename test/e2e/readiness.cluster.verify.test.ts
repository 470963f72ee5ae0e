import { expect, it } from "vitest";
import { startControlPlane } from "../control-plane/control-plane.ts";
import { kubectl } from "../control-plane/kubectl.ts";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/ports.ts";
import { startCommand } from "../support/processes.ts";

it("the operator is alive but not ready while one of its CRDs is missing, says which, and becomes ready automatically when it is installed", async () => {
  await using controlPlane = await startControlPlane();
  const options = controlPlane.admin;
  const apply = (...names: string[]) =>
    kubectl(["apply", "--server-side", ...names.map((name) => `--filename=crds/${name}.yaml`)], options);
  await apply("computes", "serviceconnections");
  const port = await freePort();
  const operator = await startCommand("operator", [
    "run",
    "--kubeconfig",
    options.kubeconfig,
    "--http-port",
    `${port}`,
  ]);
  try {
    const probe = async (path: string) => {
      const answer = await fetch(`http://127.0.0.1:${port}${path}`);
      return `${answer.status} ${await answer.text()}`;
    };
    const waitsFor = (what: RegExp) =>
      eventually(`/readyz to answer ${what}`, async () => what.exec(await probe("/readyz"))?.[0]);
    // Of those that are there the lists come in.
    await waitsFor(/^503 no complete list yet of ComputePool: /);
    expect(await probe("/healthz")).toBe("200 ok\n");
    await apply("computepools");
    await waitsFor(/^200 ok/);
    expect(operator.running).toBe(true);
  } finally {
    await operator.kill();
  }
});
