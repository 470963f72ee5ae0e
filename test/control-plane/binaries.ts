import { accessSync, constants, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { type Binaries, type BinaryName, type BinarySource, binaryNames, kubernetesVersion } from "./binary.ts";
import { buildBinary } from "./build.ts";
import { downloadBinaries } from "./download.ts";

export interface BinariesOptions {
  env?: NodeJS.ProcessEnv;
  progress?: (line: string) => void;
  download?: BinarySource;
  build?: BinarySource;
}

/**
 * Finds the binaries of the control plane: each in KUBEBUILDER_ASSETS, else in the cache, else downloaded, else built
 * with Go. The cache lies outside the repository, one directory per version and platform; a binary appears in it
 * whole or not at all, so that runs side by side do no harm.
 */
export async function findBinaries(options: BinariesOptions = {}): Promise<Binaries> {
  const { env = process.env, progress = (line) => console.error(line) } = options;
  const assets = env["KUBEBUILDER_ASSETS"];
  const cache = cacheDirectory(env);
  const find = (name: BinaryName) => [assets, cache].map((at) => at && join(at, name)).find((file) => executable(file));
  const missing = () => binaryNames.filter((name) => find(name) === undefined);

  const tried = [
    assets ? `KUBEBUILDER_ASSETS=${assets} lacks ${missing().join(", ")}` : "KUBEBUILDER_ASSETS is not set",
    `cache: ${cache} lacks ${missing().join(", ")}`,
  ];
  const sources = { download: options.download ?? downloadBinaries, build: options.build ?? buildBinary };
  for (const [name, source] of Object.entries(sources)) {
    if (missing().length === 0) break;
    mkdirSync(cache, { recursive: true });
    const staging = mkdtempSync(join(cache, ".new-"));
    try {
      tried.push(`${name}: ${await source.fetch(missing(), staging, progress)}`);
      for (const binary of missing()) {
        if (executable(join(staging, binary))) renameSync(join(staging, binary), join(cache, binary));
      }
    } finally {
      rmSync(staging, { recursive: true, force: true });
    }
  }
  const found = (name: BinaryName) => {
    const file = find(name);
    if (file === undefined) throw new Error(noBinaries(missing(), tried));
    return file;
  };
  return {
    etcd: found("etcd"),
    "kube-apiserver": found("kube-apiserver"),
    kubectl: found("kubectl"),
    "kube-controller-manager": found("kube-controller-manager"),
  };
}

/** Where binaries are kept from run to run, e.g. `~/.cache/compute-operator/control-plane/v1.36.3-linux-x64`. */
export function cacheDirectory(env: NodeJS.ProcessEnv = process.env): string {
  const root = env["XDG_CACHE_HOME"] || join(env["HOME"] || homedir(), ".cache");
  const platform = `${kubernetesVersion()}-${process.platform}-${process.arch}`;
  return join(root, "compute-operator", "control-plane", platform);
}

function executable(file: string | undefined): boolean {
  if (file === undefined || file === "") return false;
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function noBinaries(missing: readonly BinaryName[], tried: readonly string[]): string {
  return [
    `The tests need a real Kubernetes control plane and have no ${missing.join(", ")}. Four ways were tried:`,
    ...tried.map((line, index) => `  ${index + 1}. ${line}`),
    `Set KUBEBUILDER_ASSETS to a directory that holds ${binaryNames.join(", ")} of Kubernetes 1.36, give this machine`,
    "access to the internet, or install Go and give it a module proxy. `npm run check` runs all that needs none of it.",
  ].join("\n");
}
