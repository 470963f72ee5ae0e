import type { TestProject } from "vitest/node";
import { z } from "zod";
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

const shared = z.object({ kubeconfig: z.string(), auditLogFile: z.string(), kubectl: z.string() });

/** Through it the project that comes second finds what the first has started. */
const variable = "COMPUTE_OPERATOR_TEST_CONTROL_PLANE";

/**
 * One control plane for the whole run, with the project's CRDs. Where it cannot be had, the run fails. Vitest sets the
 * projects up one after another, and tears them down in reverse: who starts it ends it.
 */
export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const started = process.env[variable];
  if (started !== undefined) {
    provide(project, shared.parse(JSON.parse(started)));
    return undefined;
  }
  const controlPlane = await startControlPlane();
  try {
    const { kubeconfig, auditLogFile, binaries } = controlPlane;
    const { kubectl } = binaries;
    // The garbage collector knows the kinds that are there when it starts, and others half a minute later.
    await installCrds({ kubeconfig, kubectl });
    await controlPlane.startControllerManager();
    provide(project, { kubeconfig, auditLogFile, kubectl });
    process.env[variable] = JSON.stringify({ kubeconfig, auditLogFile, kubectl });
  } catch (error) {
    await controlPlane.stop();
    throw error;
  }
  return async () => {
    delete process.env[variable];
    await controlPlane.stop();
  };
}

function provide(project: TestProject, { kubeconfig, auditLogFile, kubectl }: z.infer<typeof shared>): void {
  project.provide("kubeconfig", kubeconfig);
  project.provide("auditLogFile", auditLogFile);
  project.provide("kubectl", kubectl);
}
