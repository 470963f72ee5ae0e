import { dashed, digest } from "../../operator/resources/signature.ts";

// The uid of an object without a cluster: a UUID of version 8 (RFC 9562), derived from namespace and name alone. So the
// next apply, by anybody and from anywhere, recognises the endpoint by its name. An API server creates version 4.

/** A uid that begins with 12 digits of the namespace, so that a signature alone proves its namespace. */
export function derivedUID(namespace: string, name: string): string {
  return asUID(
    digest(`compute-operator.dev/Namespace/${namespace}`, 12) +
      digest(`compute-operator.dev/Compute/${namespace}/${name}`, 32).slice(12),
  );
}

/** The uid of a Branch, derived from the fleet too: the note at the service that carries it is never rewritten. */
export function derivedBranchUID(fleet: string | undefined, namespace: string, name: string): string {
  return asUID(digest(`compute-operator.dev/Branch/${fleet ?? ""}/${namespace}/${name}`, 32));
}

/** True if a uid is derived from a name, in whatever namespace. */
export function isDerivedUID(uid: string): boolean {
  return /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(uid);
}

/** True if a uid is derived from a name in this namespace. */
export function isDerivedIn(namespace: string, uid: string): boolean {
  return isDerivedUID(uid) && uid.slice(0, 13) === derivedUID(namespace, "").slice(0, 13);
}

/** A stand-in for the uid that the API server will give: no object at the service carries it. */
export function uidToBe(derived: string): string {
  return `${derived.slice(0, 14)}4${derived.slice(15)}`;
}

/** 32 hex digits as a UUID: version and variant replace two of them. */
function asUID(hex: string): string {
  const variant = ((Number.parseInt(hex.slice(16, 17), 16) & 0x3) | 0x8).toString(16);
  return dashed(`${hex.slice(0, 12)}8${hex.slice(13, 16)}${variant}${hex.slice(17)}`);
}
