import { dirname } from "node:path";
import type { ControlPlane } from "../control-plane/control-plane.ts";

/** What the demo prints once everything is up. */
export function toPlayWith(
  { kubeconfig, binaries }: Pick<ControlPlane, "kubeconfig"> & { binaries: { kubectl: string } },
  baseURL: string,
  operatorLog: string,
): string {
  return [
    "Everything stays up until Ctrl-C. To play with it, in another terminal:",
    "",
    `  export KUBECONFIG=${kubeconfig}`,
    `  export PATH=${dirname(binaries.kubectl)}:$PATH`,
    "  kubectl get computes -n shop --watch",
    `  tail -f ${operatorLog}`,
    "",
    `The service's console: ${new URL("/", baseURL).href}; its API: ${baseURL}, with the header \`Authorization: Bearer org-key\`.`,
  ].join("\n");
}
