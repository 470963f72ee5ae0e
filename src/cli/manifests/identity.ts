import { createHash } from "node:crypto";

/**
 * The uid of an object without a cluster: a UUID (version 8, RFC 9562) derived from kind, namespace and name alone. So
 * the next apply, by anybody and from anywhere, recognises the endpoint by its name, `k8s-<uid>`.
 */
export function derivedUID(namespace: string, name: string): string {
  const hex = createHash("sha256").update(`compute-operator.dev/Compute/${namespace}/${name}`).digest("hex");
  const variant = ((Number.parseInt(hex.slice(16, 17), 16) & 0x3) | 0x8).toString(16);
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `${variant}${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join("-");
}

/** Whether a uid is derived: an API server creates version 4. */
export function isDerivedUID(uid: string): boolean {
  return /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(uid);
}
