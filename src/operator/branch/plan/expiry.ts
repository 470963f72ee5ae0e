import type { ListedBranch } from "../../../api/branch.ts";
import { mostLagMs } from "../../../api/list-lag.ts";
import { requeueDelay } from "../../conditions/rows.ts";
import { never } from "../../life/record.ts";
import { shownReason, timestamp } from "../../objects/conditions-of.ts";
import { type Branch, expiryInWords } from "../../resources/branch.ts";
import { millisecondsOf } from "../../resources/duration.ts";
import type { BranchAction, BranchEnd } from "../action.ts";
import type { EndWrite, ReadonlyMemory } from "../memory.ts";
import { isOurs, type Observation } from "../observation.ts";
import { ends } from "../words.ts";

// The end of a branch is sent where `spec.expiry` differs from `status.appliedExpiry`, where a lease is due, and after
// a reset. Everything else that the service shows is a person's decision.

/** The furthest end that is sent: 30 days less a minute, in milliseconds. */
const horizonMs = (30 * 24 * 3600 - 60) * 1000;

/** Ends that differ by no more are the same: the service may keep a fraction of a second, or round. */
const toleranceMs = 1000;

/** The end that the spec asks for, counted from now; `past`: it asks for one that is over. */
export function wantedEnd(
  { spec }: Branch,
  serviceNow: number,
): { kind: "end"; end: BranchEnd } | { kind: "past"; at: string } {
  const { expiry } = spec;
  const words = expiryInWords(expiry);
  const within = (ms: number): BranchEnd => ({ expiry: words, at: timestamp(Math.min(ms, serviceNow + horizonMs)) });
  if ("never" in expiry) return { kind: "end", end: { expiry: words, at: undefined } };
  if ("after" in expiry) return { kind: "end", end: within(serviceNow + millisecondsOf(expiry.after)) };
  if ("lease" in expiry) return { kind: "end", end: within(serviceNow + millisecondsOf(expiry.lease)) };
  const at = Date.parse(expiry.at);
  return at <= serviceNow ? { kind: "past", at: expiry.at } : { kind: "end", end: within(at) };
}

export function isSameEnd(one: string | undefined, other: string | undefined): boolean {
  if (one === undefined || other === undefined) return one === other;
  return Math.abs(Date.parse(one) - Date.parse(other)) <= toleranceMs;
}

/** True if the status says that this end is the one that was last applied. */
export function isApplied({ appliedExpiry, appliedEnd }: Branch["status"], { expiry, at }: BranchEnd): boolean {
  return appliedExpiry === expiry && isSameEnd(appliedEnd, at);
}

/** The end that is to be sent for a branch of ours, or why none can be; `undefined`: none is due. */
export function dueEnd(o: Observation, memory: ReadonlyMemory): BranchAction | undefined {
  const { object, linked, serviceNow } = o;
  if (linked === undefined || !isOurs(linked.by)) return undefined;
  const { listed } = linked;
  const { status } = object;
  const wanted = wantedEnd(object, serviceNow);
  const words = expiryInWords(object.spec.expiry);
  const sent = memory.ends.find(({ record }) => record.expiry === words);
  const seen = sent === undefined ? undefined : planSent(sent, o, listed);
  if (seen !== undefined) return seen;
  if (isLateEnd(o, memory)) return wanted.kind === "past" ? undefined : send(listed.id, wanted.end, "expiry");
  if (status.appliedExpiry !== words) {
    if (isMadeSo(o)) return { kind: "note", news: { appliedExpiry: words, appliedEnd: listed.expires_at } };
    if (wanted.kind === "past") return { kind: "show", reason: "Rejected", message: ends.past(wanted.at, listed.id) };
    return send(listed.id, begunEnd(wanted.end, memory, serviceNow), "expiry");
  }
  if (wanted.kind === "past" || differs(o) || !isDue(o)) return undefined;
  return send(listed.id, wanted.end, "renewal");
}

/** The step for an end that was sent: it is shown, or not yet, or not kept; `undefined`: none, or it may be sent. */
function planSent(
  { record, phase, closedAt = never, unseen, differsSince }: EndWrite,
  { object, listing }: Observation,
  listed: ListedBranch,
): BranchAction | undefined {
  const { expiry, at } = record;
  if (phase === "unsent") return undefined;
  if (isSameEnd(at, listed.expires_at)) {
    return isApplied(object.status, record)
      ? undefined
      : { kind: "note", news: { appliedExpiry: expiry, appliedEnd: at } };
  }
  if (phase === "open") return undefined;
  // Lists that agree prove that the service does not keep the end: retried with backoff, at most hourly.
  const differsMs = differsSince === undefined ? 0 : listing.startedAt - differsSince;
  if (differsMs < mostLagMs) return { kind: "noop", afterMs: mostLagMs - differsMs };
  if (listing.startedAt >= closedAt + requeueDelay("slow", unseen - 1)) return undefined;
  return { kind: "show", reason: "Rejected", message: ends.ignored(listed.id) };
}

/** The end of an earlier attempt for the same expiry, which may still land, as long as it is to come. */
function begunEnd(wanted: BranchEnd, memory: ReadonlyMemory, serviceNow: number): BranchEnd {
  const begun = memory.ends.find(({ record, phase }) => record.expiry === wanted.expiry && phase !== "closed")?.record;
  return begun?.at === undefined || Date.parse(begun.at) <= serviceNow ? wanted : begun;
}

/** The service took up an end of ours that another expiry had asked for, after the present one. */
function isLateEnd({ object, linked }: Observation, memory: ReadonlyMemory): boolean {
  const { appliedExpiry, appliedEnd } = object.status;
  const theirs = linked?.listed.expires_at;
  if (appliedExpiry !== expiryInWords(object.spec.expiry) || isSameEnd(theirs, appliedEnd)) return false;
  return memory.ends.some(({ record, phase }) => phase === "open" && isSameEnd(record.at, theirs));
}

/** A person's decision at the service; `undefined`: none. */
export function drift(o: Observation): string | undefined {
  const { object, linked } = o;
  if (linked === undefined || !isOurs(linked.by)) return undefined;
  const { expires_at: theirs } = linked.listed;
  const { appliedExpiry, appliedEnd } = object.status;
  if (appliedExpiry === undefined || isSameEnd(theirs, appliedEnd)) return undefined;
  return isOwnEnd(o, theirs) ? undefined : ends.drifted(theirs, appliedEnd);
}

/**
 * True if the end can be that of an earlier request of ours, such as a renewal whose answer was lost. A lease is
 * renewed from an earlier end too. An end that was seen as a person's decision stays one.
 */
function isOwnEnd({ object, serviceNow, createSettleMs }: Observation, theirs: string | undefined): boolean {
  const { expiry } = object.spec;
  if (theirs === undefined) return false;
  if ("after" in expiry) {
    // The end of an earlier attempt, sent by a process that is gone: it lies before ours, by what a request takes.
    const earlierMs = Date.parse(object.status.appliedEnd ?? "") - Date.parse(theirs);
    return earlierMs >= 0 && earlierMs <= createSettleMs + toleranceMs;
  }
  if (!("lease" in expiry)) return false;
  const wasDrift = shownReason(object) === "Drifted" && isSameEnd(theirs, object.status.expiresAt);
  return !wasDrift && Date.parse(theirs) <= serviceNow + millisecondsOf(expiry.lease) + toleranceMs;
}

/** Milliseconds until the next renewal; `undefined`: none will be due. */
export function renewalInMs(o: Observation): number | undefined {
  const { linked } = o;
  const lengthMs = renewedEvery(o.object, o.serviceNow);
  if (linked === undefined || !isOurs(linked.by) || lengthMs === undefined || differs(o)) return undefined;
  const at = renewalAt(o, lengthMs);
  // No time is known before a first end was applied.
  return Number.isNaN(at) ? undefined : Math.max(0, at - o.serviceNow);
}

/** True if a lease is so near its end that a renewal which fails concerns a person. */
export function isLate({ spec: { expiry }, status }: Branch, wallNow: number): boolean {
  if (!("lease" in expiry) || status.expiresAt === undefined || status.gone !== undefined) return false;
  return Date.parse(status.expiresAt) - wallNow <= millisecondsOf(expiry.lease) / 4;
}

/** Ends that lie so near, in milliseconds, concern a person. */
export const endsSoonMs = 24 * 3_600_000;

/** True if the branch of somebody else that has the name ends within a day: then this object creates its own. */
export function fallsFreeSoon({ status: { takenUntil } }: Branch, wallNow: number): boolean {
  return takenUntil !== undefined && Date.parse(takenUntil) - wallNow <= endsSoonMs;
}

function differs(o: Observation): boolean {
  return drift(o) !== undefined;
}

function isDue(o: Observation): boolean {
  const lengthMs = renewedEvery(o.object, o.serviceNow);
  return lengthMs !== undefined && o.serviceNow >= renewalAt(o, lengthMs);
}

/**
 * Between 1/2 and 5/8 of the length after the last renewal, by the uid: branches that were made together are not
 * renewed together.
 */
function renewalAt({ object, linked }: Observation, lengthMs: number): number {
  const end = Date.parse(linked?.listed.expires_at ?? "");
  const share = Number.parseInt(object.metadata.uid.slice(0, 4), 16) / 0xffff;
  return end - lengthMs / 2 + (lengthMs / 8) * (Number.isNaN(share) ? 0 : share);
}

/** The length of a lease; of an end that lies beyond what can be sent at once, that of the longest. */
function renewedEvery({ spec: { expiry } }: Branch, serviceNow: number): number | undefined {
  if ("lease" in expiry) return Math.min(horizonMs, millisecondsOf(expiry.lease));
  const isFar = "at" in expiry && Date.parse(expiry.at) > serviceNow + horizonMs / 2;
  return isFar ? horizonMs : undefined;
}

/**
 * True if the service has given the branch its end already: with the create whose answer was lost, or with a reset,
 * which begins the branch's interval again.
 */
function isMadeSo({ object, linked }: Observation): boolean {
  const { expiry } = object.spec;
  const { expires_at: end, created_at: createdAt, last_reset_at: resetAt } = linked?.listed ?? {};
  if ("never" in expiry) return end === undefined;
  if (object.status.appliedExpiry !== undefined || end === undefined) return false;
  if ("at" in expiry) return object.status.resetAt === undefined && isSameEnd(end, expiry.at);
  const begun = object.status.resetAt === undefined ? createdAt : resetAt;
  const lengthMs = Math.min(horizonMs, millisecondsOf("after" in expiry ? expiry.after : expiry.lease));
  return Math.abs(Date.parse(end) - Date.parse(begun ?? "") - lengthMs) <= 60_000;
}

function send(id: string, end: BranchEnd, why: "expiry" | "renewal"): BranchAction {
  return { kind: "write", write: { op: "patch", id, body: { expires_at: end.at ?? null }, why, end } };
}
