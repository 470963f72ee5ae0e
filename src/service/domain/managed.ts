import { hash } from "node:crypto";
import type { Store } from "../store/store.ts";
import { noteOf } from "./branch-note.ts";

/** The trace of the operator that manages a compute. */
export type Management = Signed | Changed;

/** A compute made by an operator: its name is the signature. */
export interface Signed {
  kind: "signed";
  /** The uid of the Compute that keeps it. */
  uid: string;
  /** The Compute as `namespace/name`, where the signature proves it; the signature has only a digest. */
  object: string | undefined;
  /** The name of its fleet where it is known, else the digest in the signature; `undefined` without a fleet. */
  fleet: string | undefined;
}

/** A compute of another name that an operator has changed: an adopted one, most often. */
export interface Changed {
  kind: "changed";
  at: number;
}

/**
 * The operator of a compute: by its name, `k8s-<uid>` or with a fleet `k8s-<fleet>-<key>-<uid>`, else by its changes.
 * An operator that has adopted a compute, and found nothing to change, is not known. The digests of a signature are
 * compared with the names that the note of its branch has, and with `sought`, the text that a person looks for.
 */
export function managementOf(
  { endpoints, branches }: Pick<Store, "endpoints" | "branches">,
  { id, name, branchId }: { id: string; name: string | undefined; branchId: string },
  sought?: string,
): Management | undefined {
  const parts = /^k8s-(?:([0-9a-f]{8})-([0-9a-f]{16})-([0-9a-f]{32})|([0-9a-f-]{36}))$/.exec(name ?? "");
  if (!parts) {
    const at = endpoints.changedByOperator(id);
    return at === undefined ? undefined : { kind: "changed", at };
  }
  const [, fleet, key, packed = "", uid = hyphenated(packed)] = parts;
  const note = noteOf(branches.byId(branchId)?.details ?? { annotations: {} });
  const named = (digest: string | undefined, names: readonly (string | undefined)[]) =>
    digest && names.find((one) => one !== undefined && digestOf(one, digest.length) === digest);
  return {
    kind: "signed",
    uid,
    object: named(key, [note?.object, sought]),
    fleet: named(fleet, [note?.fleet, sought]) ?? fleet,
  };
}

/** The signatures' parts that a text may stand for: the digest of a fleet's name, and that of a `namespace/name`. */
export function signaturePartsOf(sought: string): { fleet: string; key: string } {
  return { fleet: `k8s-${digestOf(sought, 8)}-`, key: `-${digestOf(sought, 16)}-` };
}

function digestOf(text: string, length: number): string {
  return hash("sha256", text).slice(0, length);
}

function hyphenated(packed: string): string {
  return packed.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

/** True if a client says that it is the operator, or its command line. */
export function isOperator(agent: string | undefined): boolean {
  return /^compute-operator\b/.test(agent ?? "");
}
