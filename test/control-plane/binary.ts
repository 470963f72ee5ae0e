import { readFileSync } from "node:fs";
import { join } from "node:path";

/** What the tests' control plane is made of. */
export const binaryNames = ["etcd", "kube-apiserver", "kubectl", "kube-controller-manager"] as const;
export type BinaryName = (typeof binaryNames)[number];
/** Where each binary lies. */
export type Binaries = Readonly<Record<BinaryName, string>>;

/** Puts those of `wanted` that it can into `directory`; what is missing afterwards is the next source's to get. */
export interface BinarySource {
  /** What it did or why it could not, for the error that names all sources. */
  fetch(wanted: readonly BinaryName[], directory: string, progress: (line: string) => void): Promise<string>;
}

/** The Kubernetes version that is built and that the cache is keyed by, e.g. `v1.36.3`: go.mod is its one source. */
export function kubernetesVersion(): string {
  const goMod = readFileSync(join(import.meta.dirname, "go", "go.mod"), "utf8");
  const version = /^\s*(?:require )?k8s\.io\/kubernetes (v\S+)/m.exec(goMod)?.[1];
  if (version === undefined) throw new Error("test/control-plane/go/go.mod does not require k8s.io/kubernetes");
  return version;
}
