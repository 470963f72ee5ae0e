import { dirname, join } from "node:path";
import { eventually } from "../support/eventually.ts";
import { type ProgramResult, runProgram } from "../support/run-program.ts";

export interface KubectlOptions {
  kubeconfig: string;
  /** The binary; `kubectl` of the path where left out. */
  kubectl?: string;
  /** Fed to its standard input, for `-f -`. */
  input?: string;
}

/** Runs kubectl and resolves with what it gave, whatever its exit status. */
export function runKubectl(args: readonly string[], options: KubectlOptions): Promise<ProgramResult> {
  const { kubeconfig, input } = options;
  // The cache in the home directory is keyed by host and port, which another control plane may have had before.
  const env = { ...process.env, KUBECONFIG: kubeconfig, KUBECACHEDIR: join(dirname(kubeconfig), "kubectl-cache") };
  return runProgram(options.kubectl ?? "kubectl", args, { input, env });
}

/** Runs kubectl and resolves with its output; rejects with what it said where its exit status is not 0. */
export async function kubectl(args: readonly string[], options: KubectlOptions): Promise<string> {
  const { status, stdout, stderr } = await runKubectl(args, options);
  if (status !== 0) throw new Error(`\`kubectl ${args.join(" ")}\` ends with status ${status}: ${stderr.trim()}`);
  return stdout;
}

/**
 * `kubectl replace`, again where it conflicts: it reads the object before it writes, and an operator may write between
 * the two.
 */
export async function replace(object: object, args: readonly string[], options: KubectlOptions): Promise<void> {
  const input = JSON.stringify(object);
  const sent = () => kubectl([...args, "replace", "-f", "-"], { ...options, input });
  await eventually("a replace that nobody comes between", sent);
}
