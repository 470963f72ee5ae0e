import { createHash } from "node:crypto";

/** The beginning of a text's SHA-256, as signatures have it. */
export function digest(text: string, length: number): string {
  return createHash("sha256").update(text).digest("hex").slice(0, length);
}

/** The name that the operator of a fleet gives the compute of an object `namespace/name`. */
export function signatureOf(fleet: string, object: string, uid = "0d0c4b5e11aa4bbb8ccc0123456789ab"): string {
  return `k8s-${digest(fleet, 8)}-${digest(object, 16)}-${uid}`;
}
