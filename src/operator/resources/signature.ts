import { hash } from "node:crypto";
import { type KubeObject, placeOf } from "../objects/object.ts";

// The name of an endpoint says which Compute made it: `k8s-<uid>`, and in a fleet `k8s-<fleet>-<key>-<uid>`. Fleet and
// key find what a former Compute of the same namespace and name made; only the uid proves an endpoint a Compute's own.

/** Names a fleet within a signature: the first 8 hex digits of the SHA-256 of its name. */
export type Fleet = string;

/** The parts of a name that is a signature. `fleet` and `key` are absent without a fleet. */
export interface Signature {
  uid: string;
  fleet?: Fleet;
  /** Names namespace and name of the Compute. */
  key?: string;
}

export function fleetOf(name: string): Fleet {
  return digest(name, 8);
}

export function keyOf({ metadata }: Pick<KubeObject, "metadata">): string {
  return digest(placeOf(metadata), 16);
}

/** The name given to the endpoint of the Compute with this uid, without a fleet. */
export function signatureOfUID(uid: string): string {
  return `k8s-${uid}`;
}

/** The name given to the endpoint of a Compute. */
export function signatureOf(compute: Pick<KubeObject, "metadata">, fleet: Fleet | undefined): string {
  const { uid } = compute.metadata;
  return fleet === undefined ? signatureOfUID(uid) : `k8s-${fleet}-${keyOf(compute)}-${uid.replaceAll("-", "")}`;
}

/** `undefined` if the name is no signature. */
export function signatureIn(name: string | undefined): Signature | undefined {
  if (name?.startsWith("k8s-") !== true) return undefined;
  const [, fleet, key, uid] = /^k8s-([0-9a-f]{8})-([0-9a-f]{16})-([0-9a-f]{32})$/.exec(name) ?? [];
  if (fleet !== undefined && key !== undefined && uid !== undefined) return { fleet, key, uid: dashed(uid) };
  const [, plain] = /^k8s-([0-9a-f-]+)$/.exec(name) ?? [];
  return plain === undefined ? undefined : { uid: plain };
}

/** The uid of the Compute that the name marks as the endpoint's owner, in whatever fleet. */
export function uidInSignature(name: string | undefined): string | undefined {
  return signatureIn(name)?.uid;
}

/** 32 hex digits as a UUID is written. */
export function dashed(uid: string): string {
  return uid.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

/** The first hex digits of the SHA-256 of a text. */
export function digest(text: string, digits: number): string {
  return hash("sha256", text).slice(0, digits);
}
