import { inject } from "vitest";
import type { ProgramResult } from "../support/run-program.ts";
import { crdsServed } from "./crds.ts";
import {
  listOf,
  createNamespace as newNamespace,
  replace as replaceObject,
  kubectl as run,
  runKubectl,
} from "./kubectl.ts";

// What a `*.cluster.test.ts` needs of the control plane that its run shares.

/** Path of a kubeconfig whose user may do everything. */
export function kubeconfig(): string {
  return inject("kubeconfig");
}

interface Options {
  /** Fed to kubectl, for `-f -`. */
  input?: string;
  /** Of another user than the one who may do everything. */
  kubeconfig?: string;
}

/** Runs kubectl and resolves with its output; rejects with what it said where it fails. */
export function kubectl(args: readonly string[], options: Options = {}): Promise<string> {
  return run(args, { kubeconfig: kubeconfig(), kubectl: inject("kubectl"), ...options });
}

/** Runs kubectl and resolves with exit status and output, for what is expected to be refused. */
export function tryKubectl(args: readonly string[], options: Options = {}): Promise<ProgramResult> {
  return runKubectl(args, { kubeconfig: kubeconfig(), kubectl: inject("kubectl"), ...options });
}

/** `kubectl replace` of one object in this namespace, again where an operator's write comes between. */
export function replace(namespace: string, object: object): Promise<void> {
  return replaceObject(object, ["--namespace", namespace], { kubeconfig: kubeconfig(), kubectl: inject("kubectl") });
}

/** Waits until the kinds of all CRDs are served. */
export function kindsServed(): Promise<void> {
  return crdsServed({ kubeconfig: kubeconfig(), kubectl: inject("kubectl") });
}

/** Applies a manifest, given as text or as objects, and resolves with kubectl's output. */
export function apply(manifest: string | readonly object[], options: Options = {}): Promise<string> {
  const input = typeof manifest === "string" ? manifest : listOf(manifest);
  return kubectl(["apply", "-f", "-"], { ...options, input });
}

/** A new namespace with a name that no other test has, e.g. `restart-3f9a1c20`. */
export function createNamespace(prefix = "test"): Promise<string> {
  return newNamespace(prefix, { kubeconfig: kubeconfig(), kubectl: inject("kubectl") });
}
