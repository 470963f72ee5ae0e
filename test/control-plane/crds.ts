import { join } from "node:path";
import { type KubectlOptions, kubectl } from "./kubectl.ts";

/** Installs the project's CRDs, as a person would, and waits until they are served. */
export async function installCrds(options: KubectlOptions): Promise<void> {
  const directory = join(import.meta.dirname, "..", "..", "crds");
  await kubectl(["apply", "--server-side", "-k", directory], options);
  await kubectl(["wait", "--for=condition=Established", "crd", "--all", "--timeout=60s"], options);
}
