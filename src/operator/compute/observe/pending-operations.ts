import type { Compute } from "../../resources/compute.ts";
import { annotations } from "../../resources/names.ts";

/**
 * Written before an endpoint is created and taken away when the outcome is known: whoever finds it knows that a POST
 * may have been sent.
 */
export interface PendingCreate {
  /** Of the Compute; a mark with another uid was copied and counts for nothing. */
  uid: string;
  /** RFC 3339. */
  since: string;
  branchID: string;
  /**
   * The fingerprint of the base URL and key that it was sent with. A mark can be typed by anybody, and a fingerprint
   * copied: as a claim on a branch the mark counts only where the Compute's own session has this one and has shown the
   * project. As a pending create it always counts.
   */
  through: string;
  /** The endpoint in whose place it is made, which was proved gone before. */
  replaces?: string;
  /** The service was known to show names when it was sent: a missing name tells whose an endpoint is not. */
  named?: true;
  /** Another POST followed while the outcome of the first was not known: one of them may yet arrive. */
  resent?: true;
}

/** Written before a restart is sent. */
export interface PendingRestart {
  uid: string;
  since: string;
  /** Of the annotation `restartedAt` that asked for it. */
  value: string;
  /**
   * When the newest operation of the endpoint before was created; empty: it had none; absent: they could not be read.
   */
  newestOperation?: string;
  /** When the last of them was over; empty: it had none; absent: one was under way, or it is not known. */
  restedSince?: string;
  /** The endpoint's `started_at` in the last list before. */
  startedAt?: string;
}

export function pendingCreateOf({ metadata }: Compute): PendingCreate | undefined {
  const mark = parsed(metadata.annotations?.[annotations.pendingCreate], metadata.uid);
  if (mark === undefined) return undefined;
  const replaces = text(mark.replaces);
  return {
    uid: metadata.uid,
    since: text(mark.since) ?? "",
    branchID: text(mark.branchID) ?? "",
    through: text(mark.through) ?? "",
    ...(replaces === undefined ? {} : { replaces }),
    ...(mark.named === true ? { named: true } : {}),
    ...(mark.resent === true ? { resent: true } : {}),
  };
}

/** The branch of a pending create; a mark that names none was made for `spec.branchID`. */
export function branchOfCreate(compute: Compute): string | undefined {
  const mark = pendingCreateOf(compute);
  return mark?.branchID === "" ? compute.spec.branchID : mark?.branchID;
}

export function pendingRestartOf({ metadata }: Compute): PendingRestart | undefined {
  const mark = parsed(metadata.annotations?.[annotations.pendingRestart], metadata.uid);
  if (mark === undefined) return undefined;
  const newestOperation = text(mark.newestOperation);
  const restedSince = text(mark.restedSince);
  const startedAt = text(mark.startedAt);
  return {
    uid: metadata.uid,
    since: text(mark.since) ?? "",
    value: text(mark.value) ?? "",
    ...(newestOperation === undefined ? {} : { newestOperation }),
    ...(restedSince === undefined ? {} : { restedSince }),
    ...(startedAt === undefined ? {} : { startedAt }),
  };
}

function parsed(annotation: string | undefined, uid: string): Record<string, unknown> | undefined {
  if (annotation === undefined) return undefined;
  try {
    const mark: unknown = JSON.parse(annotation);
    if (typeof mark !== "object" || mark === null || !("uid" in mark) || mark.uid !== uid) return undefined;
    return { ...mark };
  } catch {
    return undefined;
  }
}

function text(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
