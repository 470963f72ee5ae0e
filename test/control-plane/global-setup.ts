import { existsSync } from "node:fs";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { startControlPlane } from "./control-plane.ts";
import { kubectl } from "./kubectl.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** Path of a kubeconfig whose user may do everything on the control plane of this run. */
    kubeconfig: string;
    /** Path of the kubectl binary. */
    kubectl: string;
  }
}

/** One control plane for the whole run, with the project's CRDs. Where it cannot be had, the run fails. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const controlPlane = await startControlPlane();
  try {
    const { kubeconfig, binaries } = controlPlane;
    const crds = join(import.meta.dirname, "..", "..", "crds");
    await Promise.all([
      controlPlane.startControllerManager(),
      installCrds(crds, { kubeconfig, kubectl: binaries.kubectl }),
    ]);
    project.provide("kubeconfig", kubeconfig);
    project.provide("kubectl", binaries.kubectl);
  } catch (error) {
    await controlPlane.stop();
    throw error;
  }
  return () => controlPlane.stop();
}

async function installCrds(directory: string, options: { kubeconfig: string; kubectl: string }): Promise<void> {
  if (!existsSync(directory)) return;
  await kubectl(["apply", "--server-side", "-f", directory], options);
  await kubectl(["wait", "--for=condition=Established", "crd", "--all", "--timeout=60s"], options);
}
