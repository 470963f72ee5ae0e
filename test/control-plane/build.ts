import { join } from "node:path";
import { goBuild } from "../support/go-build.ts";
import { reporting, secondsSince } from "../support/progress.ts";
import { type BinaryName, type BinarySource, kubernetesVersion } from "./binary.ts";

/** The package of each binary, at the version that test/control-plane/go pins. */
const packages: Readonly<Record<BinaryName, string>> = {
  etcd: "go.etcd.io/etcd/server/v3",
  "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
  kubectl: "k8s.io/kubernetes/cmd/kubectl",
  "kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
};

/** Builds what is missing with the Go toolchain from published, pinned modules: minutes, once per machine. */
export const buildBinary: BinarySource = {
  async fetch(wanted, directory, progress) {
    const began = performance.now();
    progress(`Building the control plane with Go, once for this machine: about 6 minutes on two cores, less on more.`);
    for (const [index, name] of wanted.entries()) {
      const label = `[${index + 1}/${wanted.length}] ${name}`;
      const failure = await reporting(label, progress, () => build(name, directory));
      if (failure !== undefined) return failure;
    }
    return `built ${wanted.join(", ")} in ${secondsSince(began)}`;
  },
};

/** Resolves with what went wrong, or `undefined`. */
function build(name: BinaryName, directory: string): Promise<string | undefined> {
  return goBuild({
    module: join(import.meta.dirname, "go"),
    package: packages[name],
    output: join(directory, name),
    // Without it the server calls itself v0.0.0-master.
    stamps: { "k8s.io/component-base/version.gitVersion": kubernetesVersion() },
  });
}
