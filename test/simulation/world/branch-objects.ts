import type { Branch } from "../../../src/service/store/branches.ts";
import { isJsonObject, type JsonObject, type KubeObject } from "../api-server/objects.ts";
import { specOf } from "./computes.ts";

// How the simulation reads Branches and the branches at the service, by its own reading of the contract.

const uidKey = "compute-operator.dev/uid";

/** A Branch that there is or was, as last seen. Times on the monotonic clock, in milliseconds. */
export interface KnownBranch {
  object: KubeObject;
  /** Infinite as long as it stands. */
  until: number;
  deletingSince: number | undefined;
  /** When its expiry, policy and protection last became what they are. */
  specSince: number;
  expirySince: number;
  /** Values of the annotation that were ever set by somebody. */
  resetsAsked: number;
  askedAt: number;
  /** Ids of the branches that it was linked to. */
  linked: ReadonlySet<string>;
}

/** The uid in the note of a branch. */
export function notedUID({ details }: Branch): string | undefined {
  const { [uidKey]: uid } = isJsonObject(details.annotations) ? details.annotations : {};
  return typeof uid === "string" ? uid : undefined;
}

/** True if nothing deletes the branch together with its object. */
export function isRetained(object: KubeObject): boolean {
  const { deletionPolicy } = specOf(object);
  return deletionPolicy === "Retain";
}

export function isEndless({ expiry }: JsonObject): boolean {
  return isJsonObject(expiry) && expiry["never"] === true;
}

const unitsMs: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1000 };

export function millisecondsOf(duration: unknown): number {
  return [...String(duration).matchAll(/(\d+)([hms])/g)].reduce(
    (sum, [, count, unit = ""]) => sum + Number(count) * (unitsMs[unit] ?? 0),
    0,
  );
}

export function isLease(object: KubeObject): boolean {
  const { expiry } = specOf(object);
  return isJsonObject(expiry) && expiry["lease"] !== undefined;
}

/** `spec.expiry` as `status.appliedExpiry` says it. */
export function inWords(expiry: unknown): string {
  const [[kind, value] = ["", ""]] = Object.entries(Object(expiry));
  return kind === "never" ? kind : `${kind} ${String(value)}`;
}

export function sayOf({ expiry, deletionPolicy, protected: isProtected }: JsonObject): string {
  return JSON.stringify([expiry, deletionPolicy, isProtected]);
}

export function uidIn(body: unknown): string | undefined {
  const note = isJsonObject(body) ? body["annotation_value"] : undefined;
  const uid = isJsonObject(note) ? note[uidKey] : undefined;
  return typeof uid === "string" ? uid : undefined;
}
