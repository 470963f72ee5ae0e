import type { Link } from "../../claims/ownership.ts";
import {
  type Comparison,
  compare,
  cutsConnections,
  type Difference,
  desiredSpec,
  isDeprecated,
  withWholeFields,
} from "../../fields/compare.ts";
import { shownReason } from "../../objects/conditions-of.ts";
import { generationOf } from "../../objects/object.ts";
import type { WaitingChange } from "../../resources/compute.ts";
import type { ReadonlyState } from "../memory.ts";
import { entryOf } from "../observe/moment.ts";
import type { Observation } from "../observe/observation.ts";
import type { Action } from "./action.ts";
import { isIdleSeen, isListFresh, isOfEntries, rescheduled } from "./disruption.ts";
import { awaitsTurn } from "./turn.ts";

// The changes of a linked endpoint that the spec asks for now: those to send, and those that wait for a window.

type Sendable = Comparison["differences"][number];
type Unshown = Comparison["notReturned"][number];

export interface Changes {
  /** To be sent. */
  differences: readonly Sendable[];
  notReturned: readonly Unshown[];
  /** Changes that cut connections while no window is open. */
  held: readonly (Sendable | Unshown)[];
  /** Differences among those to be sent that the service had made on its own. */
  corrects: readonly Difference[];
  edited: boolean;
  /** The drift reported before. */
  drift: readonly Difference[];
}

interface Since {
  /** The spec has a newer generation than the service was last brought to. */
  edited: boolean;
  /** The drift reported then. */
  drift: readonly Difference[];
  /** The changes that waited for a window then. */
  waiting: readonly WaitingChange[];
}

export function changesOf(comparison: Comparison, link: Link, o: Observation, s: ReadonlyState): Changes {
  const still = stillAfterPatch(comparison.differences, o, s);
  const from = since(o, s, link);
  const { edited, drift } = from;
  const wanted = comparison.differences.filter(
    (difference) => !isGivenUp(difference, still, from, o) && isToBeSent(difference, from, o, s),
  );
  const differences = withWholeFields(wanted, comparison.differences);
  const entries = rescheduled(o, s);
  const isUnsent = (change: Unshown) => edited || isWaiting(change, from) || isOfEntries(change, entries);
  const notReturned = [...comparison.notReturned, ...sendable(comparison, differences)].filter(isUnsent);
  const isHeld = holdOn([...differences, ...notReturned], entries, o, s);
  const sent = differences.filter((difference) => !isHeld(difference));
  const isCorrection = (difference: Difference) =>
    !edited && !isWaiting(difference, from) && !isOfEntries(difference, entries);
  return {
    differences: sent,
    notReturned: notReturned.filter((change) => !isHeld(change)),
    held: [...differences, ...notReturned].filter(isHeld),
    corrects: sent.filter(isCorrection),
    edited,
    drift,
  };
}

/** The changes that wait for a window, or for siblings, of a Compute at rest. */
export function heldIn(o: Observation, s: ReadonlyState): Changes["held"] {
  const { link } = o.links;
  if (link === undefined || (o.moment?.closed === undefined && !awaitsTurn(o, s))) return [];
  return changesOf(compare(desiredSpec(o.compute), link.endpoint), link, o, s).held;
}

/** The changes as the status remembers them. */
export function waitingOf(held: Changes["held"]): WaitingChange[] {
  return held.map(({ field, ours }) => ({ field, ours }));
}

/**
 * True while changes that cut connections wait: no window is open, nobody is connected to a compute that is seen idle,
 * and no entry of the schedule cuts connections now, whose one PATCH carries all that waits.
 */
export function holdsNow(changes: readonly { field: string }[], entries: ReadonlySet<string>, o: Observation): boolean {
  if (o.moment?.closed === undefined) return false;
  if (isListFresh(o) && isIdleSeen(o)) return false;
  return !changes.some((change) => cutsConnections(change) && isOfEntries(change, entries));
}

/** Tells the changes that wait: for a window, or for the member's turn, where an entry of the schedule waits whole. */
function holdOn(
  changes: readonly { field: string }[],
  entries: ReadonlySet<string>,
  o: Observation,
  s: ReadonlyState,
): (change: { field: string }) => boolean {
  if (holdsNow(changes, entries, o)) return cutsConnections;
  if (!changes.some(cutsConnections) || !awaitsTurn(o, s)) return () => false;
  return entries.size > 0 ? () => true : cutsConnections;
}

/** An edit that would wait asks once for a list that shows whether the compute is idle. */
export function askWhetherIdle({ held, edited }: Changes, o: Observation, s: ReadonlyState): Action | undefined {
  const generation = generationOf(o.compute);
  if (held.length === 0 || o.moment?.closed === undefined || !edited || isListFresh(o) || s.idleAsked === generation)
    return undefined;
  return { kind: "noop", requeueAfterMs: 1, asksWhetherIdle: generation };
}

function isWaiting({ field, ours }: { field: string; ours: string }, { waiting }: Since): boolean {
  return waiting.some((one) => one.field === field && one.ours === ours);
}

/**
 * True if the service took a deprecated field and did not keep it. It is sent once for each generation: after a restart
 * of the operator the reported drift says so.
 */
function isGivenUp(
  difference: Difference,
  still: readonly Difference[],
  { edited, drift }: Since,
  { compute }: Observation,
): boolean {
  if (!isDeprecated(difference)) return false;
  const isReported = drift.some(({ field, ours }) => field === difference.field && ours === difference.ours);
  // A branch that is reported may be one to which somebody moved the endpoint.
  const isOfMove = difference.field === "branchID" && shownReason(compute) !== "Drifted";
  return still.includes(difference) || (!edited && isReported && !isOfMove);
}

/**
 * Edits of the spec since the service was last brought to it, and the drift reported since. Where a wiped status no
 * longer says so, `Report` waits for the next edit: it shows what differs, and sends nothing. A status without an
 * endpoint has the generation of a create: of an endpoint that only a person linked it says nothing.
 */
function since(
  { compute: { status, spec, metadata } }: Observation,
  { accepted }: ReadonlyState,
  { endpoint, proof }: Link,
): Since {
  const { appliedGeneration, drift = [] } = status;
  const own = accepted?.endpointID === endpoint.id ? accepted : undefined;
  const isOfCreate = status.endpointID === undefined && proof === "none";
  const shown = appliedGeneration === undefined ? accepted : { generation: appliedGeneration, drift };
  const known = isOfCreate ? own : shown;
  const waiting = own?.waiting ?? status.waiting ?? [];
  if (known === undefined) return { edited: spec.driftPolicy === "Correct", drift: [], waiting };
  const edited = Math.max(known.generation, own?.generation ?? -1) < (metadata.generation ?? 0);
  return { edited, drift: known.drift, waiting };
}

/**
 * `Correct` sends whatever differs. `Report` sends what a newer generation or another entry of the schedule changed,
 * without what was already reported as drift for the same value of ours, and what waited for a window. No branch is put
 * back automatically: what another moved stays.
 */
function isToBeSent(difference: Difference, from: Since, o: Observation, s: ReadonlyState): boolean {
  const { field, ours } = difference;
  const { edited, drift } = from;
  const { driftPolicy, branchDrift } = o.compute.spec;
  if (field === "branchID" && branchDrift !== "Correct" && !isOwnMove(difference, { edited, drift }, o, s))
    return false;
  if (driftPolicy === "Correct") return true;
  if (isWaiting(difference, from)) return true;
  const isNewer = edited || isOfEntries(difference, rescheduled(o, s));
  return isNewer && !drift.some((reported) => reported.field === field && reported.ours === ours);
}

/**
 * True if the spec's branch is another than the endpoint was on, and not the endpoint on another than the spec's. The
 * status shows the branch as last seen: if that is the spec's, or was reported for it, the endpoint was moved outside.
 * A move of ours that lists do not show yet goes on, and where one without an answer led is our own doing.
 */
function isOwnMove(
  { ours: branchID, theirs }: Difference,
  { edited, drift }: { edited: boolean; drift: readonly Difference[] },
  { compute: { status, metadata } }: Observation,
  { patched, write }: ReadonlyState,
): boolean {
  if (patched?.generation === metadata.generation && patched?.fields.includes("branchID")) return true;
  const { operation, to, branchID: from } = write?.record ?? {};
  if (operation === "move") {
    const isUnanswered = write?.phase === "open" || write?.made === undefined;
    // The move led here, or never left for the branch that the spec still names.
    if (isUnanswered && (to === theirs || (from === theirs && to === branchID))) return true;
    // The spec was edited again before any status showed where it led.
    if (to === theirs && edited && status.branchID === from) return true;
  }
  if (drift.some(({ field, ours }) => field === "branchID" && ours === branchID)) return false;
  if (status.branchID === undefined) {
    // Without a cluster every difference is a change by the manifest. With one, the record says where we sent it first.
    return status.appliedGeneration === -1 || from === theirs || to === theirs;
  }
  return status.branchID !== branchID;
}

/** Fields that cannot be read are sent once for each generation, as those that are not shown at all. */
function sendable({ unreadable }: Comparison, differences: readonly Difference[]): Comparison["notReturned"] {
  return unreadable.flatMap(({ field, ours, send }) =>
    send === undefined || differences.some((difference) => difference.field === field) ? [] : [{ field, ours, send }],
  );
}

/** Differences that an accepted PATCH of this generation was to end. */
export function stillAfterPatch(
  differences: readonly Difference[],
  o: Observation,
  { patched }: ReadonlyState,
): Difference[] {
  if (patched === undefined || patched.generation !== generationOf(o.compute)) return [];
  if ((patched.entry ?? "") !== entryOf(o)) return [];
  return differences.filter(({ field }) => patched.fields.includes(field));
}
