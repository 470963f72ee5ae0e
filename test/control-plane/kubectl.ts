import { spawn } from "node:child_process";
import { dirname, join } from "node:path";

export interface KubectlOptions {
  kubeconfig: string;
  /** The binary; `kubectl` of the path where left out. */
  kubectl?: string;
  /** Fed to its standard input, for `-f -`. */
  input?: string;
}

/** What a run of kubectl gave. */
export interface KubectlResult {
  status: number;
  stdout: string;
  stderr: string;
}

/** Runs kubectl and resolves with what it gave, whatever its exit status. */
export function runKubectl(args: readonly string[], options: KubectlOptions): Promise<KubectlResult> {
  const child = spawn(options.kubectl ?? "kubectl", args, {
    stdio: ["pipe", "pipe", "pipe"],
    env: {
      ...process.env,
      KUBECONFIG: options.kubeconfig,
      // The one in the home directory is keyed by host and port, which another control plane may have had before.
      KUBECACHEDIR: join(dirname(options.kubeconfig), "kubectl-cache"),
    },
  });
  const result = { status: 0, stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    result.stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    result.stderr += text;
  });
  child.stdin.on("error", () => undefined);
  child.stdin.end(options.input ?? "");
  return new Promise((resolve, reject) => {
    child.once("error", (error) => reject(new Error(`kubectl cannot be run: ${error.message}`)));
    child.once("close", (status) => resolve({ ...result, status: status ?? 1 }));
  });
}

/** Runs kubectl and resolves with its output; rejects with what it said where its exit status is not 0. */
export async function kubectl(args: readonly string[], options: KubectlOptions): Promise<string> {
  const { status, stdout, stderr } = await runKubectl(args, options);
  if (status !== 0) throw new Error(`\`kubectl ${args.join(" ")}\` ends with status ${status}: ${stderr.trim()}`);
  return stdout;
}
