import { join } from "node:path";
import { eventually } from "../support/eventually.ts";
import { type ControlPlane, startControlPlane } from "./control-plane.ts";
import { type KubectlOptions, kubectl } from "./kubectl.ts";

/** Starts a control plane that has the project's CRDs. */
export async function startWithCrds(): Promise<ControlPlane> {
  const controlPlane = await startControlPlane();
  try {
    await installCrds(controlPlane.admin);
    return controlPlane;
  } catch (error) {
    await controlPlane.stop();
    throw error;
  }
}

/** Installs the project's CRDs, as a person would, and waits until they are served. */
export async function installCrds(options: KubectlOptions): Promise<void> {
  const directory = join(import.meta.dirname, "..", "..", "crds");
  await kubectl(["apply", "--server-side", "-k", directory], options);
  await crdsServed(options);
}

/**
 * Waits until the API server serves the kinds of all CRDs. Their condition `Established` comes before that, and
 * `kubectl wait` ends with an error on a CRD that has no conditions yet.
 */
export async function crdsServed(options: KubectlOptions): Promise<void> {
  await eventually("the kinds of all CRDs to be served", async () => {
    const names = await kubectl(["get", "crd", "-o", "jsonpath={.items[*].metadata.name}"], options);
    return kubectl(["get", names.replaceAll(" ", ","), "--all-namespaces"], options);
  });
}
