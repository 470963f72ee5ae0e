import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { cacheDirectory } from "../control-plane/binaries.ts";
import { goBuild, reporting } from "../support/go-build.ts";

/** What checks the files that we ship; the package of each, at the version that its module in test/tools/go pins. */
const packages = {
  helm: "helm.sh/helm/v4/cmd/helm",
  kubeconform: "github.com/yannh/kubeconform/cmd/kubeconform",
  promtool: "github.com/prometheus/prometheus/cmd/promtool",
  /** The Lua that Argo CD runs health scripts with. */
  glua: "github.com/yuin/gopher-lua/cmd/glua",
} as const;
export type Tool = keyof typeof packages;

export interface ToolResult {
  status: number;
  stdout: string;
  stderr: string;
}

/** Runs a tool and resolves with what it gave, whatever its exit status; gets the tool first where it must. */
export async function runTool(tool: Tool, args: readonly string[], input = ""): Promise<ToolResult> {
  const child = spawn(await findTool(tool), args, { stdio: ["pipe", "pipe", "pipe"] });
  const result = { status: 0, stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    result.stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    result.stderr += text;
  });
  child.stdin.on("error", () => undefined);
  child.stdin.end(input);
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (status) => resolve({ ...result, status: status ?? 1 }));
  });
}

/** The path of a tool: from the cache, else built with Go, which takes up to five minutes, once per machine. */
export async function findTool(tool: Tool): Promise<string> {
  const module = join(import.meta.dirname, "go", tool);
  const pins = createHash("sha256")
    .update(readFileSync(join(module, "go.mod")))
    .digest("hex")
    .slice(0, 12);
  const cache = join(cacheDirectory(), "..", "..", "tools", `${process.platform}-${process.arch}`);
  const cached = join(cache, `${tool}-${pins}`);
  if (existsSync(cached)) return cached;

  mkdirSync(cache, { recursive: true });
  const staging = mkdtempSync(join(cache, ".new-"));
  try {
    const output = join(staging, tool);
    const label = `Building ${tool} with Go, once for this machine`;
    const progress = (line: string) => console.error(line);
    const failure = await reporting(label, progress, () => goBuild({ module, package: packages[tool], output }));
    if (failure !== undefined) throw new Error(`${noTool(tool)} ${failure}`);
    renameSync(output, cached);
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
  return cached;
}

function noTool(tool: Tool): string {
  return (
    `The tests need ${tool} and have none. Install Go and give it a module proxy; \`npm run check\` runs all that ` +
    "needs no such tool. This was tried:"
  );
}
