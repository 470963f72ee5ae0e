import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeAll } from "vitest";
import { cacheDirectory } from "../control-plane/binaries.ts";
import { goBuild } from "../support/go-build.ts";
import { oneAtATime } from "../support/one-at-a-time.ts";
import { reporting } from "../support/progress.ts";
import { type ProgramResult, runProgram } from "../support/run-program.ts";
import { downloadTool, pinnedVersion } from "./download.ts";

/** What checks or reads the files that we ship: the package of each; its module in test/tools/go pins the version. */
const packages = {
  actionlint: "github.com/rhysd/actionlint/cmd/actionlint",
  helm: "helm.sh/helm/v4/cmd/helm",
  krew: "sigs.k8s.io/krew/cmd/krew",
  "kube-state-metrics": "k8s.io/kube-state-metrics/v2",
  kubeconform: "github.com/yannh/kubeconform/cmd/kubeconform",
  promtool: "github.com/prometheus/prometheus/cmd/promtool",
} as const;
export type Tool = keyof typeof packages;

/** On a machine with nothing in its caches and two slow cores, in milliseconds. */
const longestBuildMs = 1_800_000;

const found = new Map<Tool, string>();

/** Has these tools ready before the first test of a file begins, whose own time is too short to build one. */
export function needsTools(...tools: readonly Tool[]): void {
  beforeAll(async () => {
    for (const tool of tools) found.set(tool, await findTool(tool));
  }, longestBuildMs);
}

/** The path of a tool that `needsTools` has made ready. */
export function pathOf(tool: Tool): string {
  const path = found.get(tool);
  if (path === undefined) throw new Error(`${tool} may be missing on this machine: say needsTools("${tool}") first`);
  return path;
}

/** Runs a tool and resolves with what it gave, whatever its exit status. */
export function runTool(tool: Tool, args: readonly string[], input = ""): Promise<ProgramResult> {
  return runProgram(pathOf(tool), args, { input });
}

/** The path of a tool: from the cache, else downloaded, else built with Go: up to five minutes, once per machine. */
async function findTool(tool: Tool): Promise<string> {
  const module = join(import.meta.dirname, "go", tool);
  const version = pinnedVersion(readFileSync(join(module, "go.mod"), "utf8"));
  const cache = join(cacheDirectory(), "..", "..", "tools", `${process.platform}-${process.arch}`);
  const cached = join(cache, `${tool}-${version}`);
  if (existsSync(cached)) return cached;

  mkdirSync(cache, { recursive: true });
  // Files run beside one another: each would build the same, and none would come to an end.
  await oneAtATime(join(cache, ".lock"), async () => {
    if (!existsSync(cached)) await makeTool(tool, version, module, cached);
  });
  return cached;
}

async function makeTool(tool: Tool, version: string, module: string, cached: string): Promise<void> {
  const staging = mkdtempSync(join(dirname(cached), ".new-"));
  try {
    const output = join(staging, tool);
    const download = await downloadTool(tool, version, output);
    if (download !== undefined) {
      const label = `Building ${tool} with Go, once for this machine`;
      const progress = (line: string) => console.error(line);
      const build = await reporting(label, progress, () => goBuild({ module, package: packages[tool], output }));
      if (build !== undefined) throw new Error(noTool(tool, download, build));
    }
    renameSync(output, cached);
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
}

function noTool(tool: Tool, download: string, build: string): string {
  return [
    `The tests need ${tool} and have none. Two ways were tried:`,
    `  1. download: ${download}`,
    `  2. build: ${build}`,
    "Give this machine access to the internet, or install Go and give it a module proxy. `npm run check` runs all that",
    "needs neither.",
  ].join("\n");
}
