import { spawn } from "node:child_process";
import { join } from "node:path";
import { type BinaryName, type BinarySource, kubernetesVersion } from "./binaries.ts";

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
    return `built ${wanted.join(", ")} in ${seconds(began)}`;
  },
};

/** Resolves with what went wrong, or `undefined`. */
function build(name: BinaryName, directory: string): Promise<string | undefined> {
  const version = kubernetesVersion();
  // Without it the server calls itself v0.0.0-master.
  const stamp = `-X k8s.io/component-base/version.gitVersion=${version}`;
  const args = ["build", "-mod=readonly", "-trimpath", "-buildvcs=false", "-ldflags", `-s -w ${stamp}`];
  const go = spawn("go", [...args, "-o", join(directory, name), packages[name]], {
    cwd: join(import.meta.dirname, "go"),
    env: { ...process.env, CGO_ENABLED: "0", GOWORK: "off" },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let said = "";
  go.stderr.setEncoding("utf8").on("data", (text: string) => {
    said = (said + text).slice(-4000);
  });
  return new Promise((resolve) => {
    go.once("error", (error) => resolve(`\`go\` cannot be run (${error.message})`));
    go.once("close", (status) => {
      const last = said.trim().split("\n").slice(-3).join("; ");
      resolve(status === 0 ? undefined : `\`go build ${packages[name]}\` failed: ${last}`);
    });
  });
}

/** Says now and then that a long piece of work is still going on. */
async function reporting<T>(label: string, progress: (line: string) => void, work: () => Promise<T>): Promise<T> {
  const began = performance.now();
  progress(`${label} …`);
  const timer = setInterval(() => progress(`${label} … ${seconds(began)}`), 20_000);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}

function seconds(since: number): string {
  return `${Math.round((performance.now() - since) / 1000)} s`;
}
