import type { Store } from "../store/store.ts";

/** The trace of the operator that manages a compute. */
export type Management =
  /** A compute made by an operator: its name is the signature, with the hash of the fleet if there is one. */
  | { kind: "signed"; fleet: string | undefined }
  /** A compute of another name that an operator has changed: an adopted one, most often. */
  | { kind: "changed"; at: number };

/**
 * The operator of a compute: by its name, `k8s-<uid>` or with a fleet `k8s-<fleet>-<key>-<uid>`, else by its changes.
 * An operator that has adopted a compute, and found nothing to change, is not known.
 */
export function managementOf(
  { endpoints }: Pick<Store, "endpoints">,
  { id, name }: { id: string; name: string | undefined },
): Management | undefined {
  const fleet = /^k8s-([0-9a-f]{8})-[0-9a-f]{16}-[0-9a-f]{32}$/.exec(name ?? "")?.[1];
  if (fleet !== undefined || /^k8s-[0-9a-f-]{36}$/.test(name ?? "")) return { kind: "signed", fleet };
  const at = endpoints.changedByOperator(id);
  return at === undefined ? undefined : { kind: "changed", at };
}

/** True if a client says that it is the operator, or its command line. */
export function isOperator(agent: string | undefined): boolean {
  return /^compute-operator\b/.test(agent ?? "");
}
