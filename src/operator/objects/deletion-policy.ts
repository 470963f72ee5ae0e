import { isBeingDeleted, type KubeObject } from "./object.ts";

/** An object with a deletion policy, and the proof of what it has at the service. */
export interface Policied {
  spec: { deletionPolicy?: string | undefined };
  status: { proof?: { by: string } | undefined };
}

/**
 * The policy in force; `undefined`: none is declared, and nothing was made or adopted yet. What was adopted is kept.
 * `status.deletionPolicy` only shows it: one that a spec declared, and declares no more, decides nothing. `by`: the
 * proof, where a list shows a newer one than the status has.
 */
export function policyInForce({ spec, status }: Policied, by = status.proof?.by): string | undefined {
  if (spec.deletionPolicy !== undefined) return spec.deletionPolicy;
  if (by === undefined) return undefined;
  return by === "adopted" ? "Retain" : "Delete";
}

/** True if what the object has at the service stays by the policy in force. */
export function isRetained(object: Policied): boolean {
  return policyInForce(object) === "Retain";
}

/** True for an object that is being deleted and declares `Retain` itself; for the last guard, which asks no rule. */
export function declaresRetain(object: Policied & Pick<KubeObject, "metadata">): boolean {
  return isBeingDeleted(object) && object.spec.deletionPolicy === "Retain";
}
