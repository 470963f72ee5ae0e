import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** A machine without the internet is to know it soon. */
const reachMs = 5_000;
const downloadMs = 300_000;

interface Release {
  /** The archive. */
  url: string;
  /** A list of SHA-256 sums that names the archive. */
  sums: string;
  /** The binary within the archive. */
  path: string;
}

/** Where a release of a tool is published, by version without the v; undefined where nobody publishes binaries. */
export function releaseOf(tool: string, version: string, platform: string, arch: string): Release | undefined {
  const github = (repository: string) => `https://github.com/${repository}/releases/download`;
  switch (tool) {
    case "actionlint": {
      const at = `${github("rhysd/actionlint")}/v${version}/actionlint_${version}`;
      return { url: `${at}_${platform}_${arch}.tar.gz`, sums: `${at}_checksums.txt`, path: "actionlint" };
    }
    case "krew": {
      const url = `${github("kubernetes-sigs/krew")}/v${version}/krew-${platform}_${arch}.tar.gz`;
      return { url, sums: `${url}.sha256`, path: `./krew-${platform}_${arch}` };
    }
    case "helm": {
      const url = `https://get.helm.sh/helm-v${version}-${platform}-${arch}.tar.gz`;
      return { url, sums: `${url}.sha256sum`, path: `${platform}-${arch}/helm` };
    }
    case "kubeconform": {
      const at = `${github("yannh/kubeconform")}/v${version}`;
      return { url: `${at}/kubeconform-${platform}-${arch}.tar.gz`, sums: `${at}/CHECKSUMS`, path: "kubeconform" };
    }
    case "promtool": {
      // As a Go module version 0.315.0 stands for release 3.15.0.
      const release = version.replace(/^0\.(\d)(\d+)\./, (_, major, minor) => `${major}.${Number(minor)}.`);
      const name = `prometheus-${release}.${platform}-${arch}`;
      const at = `${github("prometheus/prometheus")}/v${release}`;
      return { url: `${at}/${name}.tar.gz`, sums: `${at}/sha256sums.txt`, path: `${name}/promtool` };
    }
    default:
      return undefined;
  }
}

/** The version of a tool that its go.mod pins, without the v. */
export function pinnedVersion(goMod: string): string {
  const tool = /^tool (\S+)/m.exec(goMod)?.[1] ?? "";
  const required = [...goMod.matchAll(/^\s*(?:require )?(\S+) v(\S+)(?: \/\/ indirect)?$/gm)];
  const owner = required.filter(([, module = "?"]) => `${tool}/`.startsWith(`${module}/`));
  return owner.toSorted(([, a = ""], [, b = ""]) => b.length - a.length)[0]?.[2] ?? "";
}

/** Puts the published binary of a tool at `output`, checked by hash. Resolves with what went wrong, or `undefined`. */
export async function downloadTool(tool: string, version: string, output: string): Promise<string | undefined> {
  const release = releaseOf(tool, version, process.platform, process.arch === "x64" ? "amd64" : process.arch);
  if (release === undefined) return "nobody publishes binaries of it";
  try {
    const sums = await fetched(release.sums, reachMs);
    const archive = await fetched(release.url, downloadMs);
    const sum = createHash("sha256").update(archive).digest("hex");
    if (!sums.toString("utf8").includes(sum)) return `${release.url} has the SHA-256 ${sum}, which is not published`;
    writeFileSync(`${output}.tar.gz`, archive);
    execFileSync("tar", ["-xzf", `${output}.tar.gz`, "-C", join(output, ".."), release.path]);
    writeFileSync(output, readFileSync(join(output, "..", release.path)), { mode: 0o755 });
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

async function fetched(url: string, timeoutMs: number): Promise<Buffer> {
  const response = await fetch(url, { signal: AbortSignal.timeout(timeoutMs) });
  if (!response.ok) throw new Error(`${url} answers ${response.status}`);
  return Buffer.from(await response.arrayBuffer());
}
