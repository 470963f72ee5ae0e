import type { TestProject } from "vitest/node";
import { startControlPlane } from "./control-plane.ts";
import { installCrds } from "./crds.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** Path of a kubeconfig whose user may do everything on the control plane of this run. */
    kubeconfig: string;
    /** Every write that the API server has answered; read it with `writesBy`. */
    auditLogFile: string;
    /** Path of the kubectl binary. */
    kubectl: string;
  }
}

/** One control plane for the whole run, with the project's CRDs. Where it cannot be had, the run fails. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const controlPlane = await startControlPlane();
  try {
    const { kubeconfig, binaries } = controlPlane;
    await Promise.all([controlPlane.startControllerManager(), installCrds({ kubeconfig, kubectl: binaries.kubectl })]);
    project.provide("kubeconfig", kubeconfig);
    project.provide("auditLogFile", controlPlane.auditLogFile);
    project.provide("kubectl", binaries.kubectl);
  } catch (error) {
    await controlPlane.stop();
    throw error;
  }
  return () => controlPlane.stop();
}
