import { inject } from "vitest";
import type { Cluster } from "./world.ts";

/** The control plane that the whole run shares. */
export function sharedCluster(): Cluster {
  return { kubeconfig: inject("kubeconfig"), kubectl: inject("kubectl") };
}
