import { isBeingDeleted, type KubeObject } from "../objects/object.ts";

/** An object with a deletion policy: as declared, and as the status shows it in force. */
export interface Policied {
  spec: { deletionPolicy?: string | undefined };
  status: { deletionPolicy?: string | undefined };
}

/**
 * The policy in force. Where none is declared, what was adopted is kept. `by`: the proof of what the object has at the
 * service; `undefined`: it cannot be seen, and the policy stays the one that the status shows.
 */
export function policyInForce({ spec, status }: Policied, by?: string): string | undefined {
  if (spec.deletionPolicy !== undefined) return spec.deletionPolicy;
  if (by === undefined) return status.deletionPolicy;
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
