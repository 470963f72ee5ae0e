import { inject } from "vitest";
import type { Access } from "../control-plane/kubectl.ts";

/** The control plane that the whole run shares. */
export function sharedCluster(): Access {
  return { kubeconfig: inject("kubeconfig"), kubectl: inject("kubectl") };
}
