import { randomBytes } from "node:crypto";
import { dirname, join } from "node:path";
import { eventually } from "../support/eventually.ts";
import { type ProgramResult, runProgram } from "../support/run-program.ts";

/** Who speaks to which API server, and with which kubectl. */
export interface Access {
  kubeconfig: string;
  /** Path of the binary. */
  kubectl: string;
}

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

/** `kubectl apply` of these objects; `args`: further flags, e.g. of a namespace. */
export function apply(
  items: readonly object[],
  options: KubectlOptions,
  args: readonly string[] = [],
): Promise<string> {
  return kubectl([...args, "apply", "-f", "-"], { ...options, input: listOf(items) });
}

/** A new namespace with a name that no other test has, e.g. `restart-3f9a1c20`. */
export async function createNamespace(prefix: string, options: KubectlOptions): Promise<string> {
  const name = `${prefix}-${randomBytes(4).toString("hex")}`;
  await kubectl(["create", "namespace", name], options);
  return name;
}

/** One manifest of several objects. */
export function listOf(items: readonly object[]): string {
  return JSON.stringify({ apiVersion: "v1", kind: "List", items });
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
