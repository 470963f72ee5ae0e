import { join } from "node:path";
import { eventually } from "../support/eventually.ts";
import { type KubectlOptions, kubectl, runKubectl } from "./kubectl.ts";

/** Installs the project's CRDs, as a person would, and waits until they are served. */
export async function installCrds(options: KubectlOptions): Promise<void> {
  const directory = join(import.meta.dirname, "..", "..", "crds");
  await kubectl(["apply", "--server-side", "-k", directory], options);
  await established(options);
}

/** Waits until all CRDs are served; `kubectl wait` ends with an error on one that has no conditions yet. */
export async function established(options: KubectlOptions): Promise<void> {
  const wait = ["wait", "--for=condition=Established", "crd", "--all", "--timeout=60s"];
  await eventually("all CRDs to be served", async () => (await runKubectl(wait, options)).status === 0 || undefined);
}
