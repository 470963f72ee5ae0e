import type { Endpoint } from "../../api/endpoint.ts";
import { mostLagMs } from "../../api/list-lag.ts";
import { recordedID } from "../claims/ownership.ts";
import { afterShown, closed, opened, settlesAt, unsent } from "../life/record.ts";
import { shownReason } from "../objects/conditions-of.ts";
import { branchIDOf, type Compute, type WriteRecord } from "../resources/compute.ts";
import { candidatesOf, namelessIn } from "./candidates.ts";
import { openWrite, type RememberedWrite } from "./memory.ts";
import { hasFinalizer, type Observation } from "./observe/observation.ts";

// The record of a Compute's write, `status.pendingWrite` (`life/record.ts` has the protocol). A success leaves it open:
// it closes with a list that shows the endpoint, or is settled by one that began so late that nothing can arrive any
// more. While it is open nothing else is created, taken over, adopted or moved.
//
// Expected flow of a create: record and `Creating` in one status patch, finalizer, POST, link.
//
//   own endpoint listed | list began after opening  | nameless candidate | -> the record
//   the answered one    | any                       | any                | closes
//   any other of ours   | 10 s or more              | any                | closes
//   any other of ours   | less                      | any                | stays open; the endpoint is linked
//   none                | settle time + 10 s        | none               | settled: the request made nothing
//   none                | settle time + 10 s        | one or more        | stays open: a name or a person decides
//   none                | less                      | any                | stays open

const none: ReadonlyMap<string, number> = new Map();

/** The record that an object shows. */
export function recordIn({ metadata, status: { pendingWrite } }: Compute): WriteRecord | undefined {
  return pendingWrite?.uid === metadata.uid ? pendingWrite : undefined;
}

export function isSameRecord(a: WriteRecord | undefined, b: WriteRecord | undefined): boolean {
  return a?.n === b?.n && a?.by === b?.by;
}

/**
 * The memory after a version of the object is seen, also without a list. A record that is not remembered opens now; one
 * that vanished stays, and is written again. At first sight our finalizer on an empty status shows that a record may
 * have been wiped; from then on this term knows what it has sent. `unproved`: the endpoint of a proof that the version
 * before had, and this one lost; a list that lags may not show it.
 */
export function afterSight(
  write: RememberedWrite | undefined,
  compute: Compute,
  { now, isFirst, unproved }: { now: number; isFirst: boolean; unproved?: string | undefined },
): RememberedWrite | undefined {
  const shown = recordIn(compute);
  if (shown !== undefined) {
    const isKnown = write !== undefined && isRememberedAs(write.record, shown);
    return afterShown({ remembered: write, isKnown }, begunBy(shown), now);
  }
  if (write?.phase === "open") return { ...write, record: { ...write.record, by: "unknown" } };
  const isWiped = isFirst && hasFinalizer(compute) && (compute.status.conditions ?? []).length === 0;
  if (!isWiped && unproved === undefined) return write;
  // The place of the request is not known: any list counts.
  const place = { branchID: branchIDOf(compute), through: "" };
  const record: WriteRecord = {
    uid: compute.metadata.uid,
    n: (write?.record.n ?? 0) + 1,
    by: "unknown",
    operation: "create",
    since: "",
    ...place,
  };
  const open = opened(begunBy(record), now);
  return unproved === undefined ? open : { ...open, made: unproved };
}

function begunBy(record: WriteRecord): RememberedWrite {
  return { ...unsent(record), firstShown: none };
}

/** The record that is about to be written; one that is written again knows what lists have shown. */
export function noted(record: WriteRecord, before: RememberedWrite | undefined): RememberedWrite {
  const isAgain = before !== undefined && isSameRecord(before.record, record);
  return isAgain ? { ...begunBy(record), firstShown: before.firstShown } : begunBy(record);
}

/** An endpoint of ours is linked in place of the one that the record made. */
export function relinked(write: RememberedWrite | undefined, endpointID: string): RememberedWrite | undefined {
  return write?.made !== undefined && write.phase === "closed" ? { ...write, made: endpointID } : write;
}

/** A person decided that this candidate is what the record made. */
export function chosen(write: RememberedWrite | undefined, endpointID: string): RememberedWrite | undefined {
  return write?.record.operation === "create" ? { ...closed(write), made: endpointID } : write;
}

/** An older record of the same term counts too: a version from before the last patch may be seen late. */
function isRememberedAs(own: WriteRecord, shown: WriteRecord): boolean {
  return own.by === shown.by && shown.n <= own.n;
}

/** A record for the next request: one that was never sent, or was refused, is used again where it fits. */
export function nextRecord(
  compute: Compute,
  { write, term, since }: { write: RememberedWrite | undefined; term: string; since: string },
  fields: Omit<WriteRecord, "uid" | "n" | "by" | "since">,
): WriteRecord {
  const last = write?.record;
  const isSame =
    last?.operation === fields.operation &&
    last.branchID === fields.branchID &&
    last.through === fields.through &&
    last.to === fields.to &&
    last.endpointID === fields.endpointID &&
    last.value === fields.value;
  if (last !== undefined && isSame && write?.phase === "unsent" && last.by === term) return last;
  const n = Math.max(last?.n ?? 0, compute.status.pendingWrite?.n ?? 0) + 1;
  return { uid: compute.metadata.uid, n, by: term, since, ...fields };
}

/** The record that every status patch carries. `showsBranch`: whether the status says where the endpoint is. */
export function carriedBy(
  write: RememberedWrite | undefined,
  compute: Compute,
  showsBranch = compute.status.branchID !== undefined,
): WriteRecord | undefined {
  if (write === undefined || (write.phase === "closed" && isShown(write, compute, showsBranch))) return undefined;
  return write.record;
}

/** True if the object says what the request made, and where: until then the record alone does. */
function isShown({ made, record }: RememberedWrite, compute: Compute, showsBranch: boolean): boolean {
  if (made === undefined || record.operation === "move" || record.operation === "restart") return true;
  // The branch of the spec, unless that was edited since: then the record alone says where the endpoint was sent.
  const isPlaced = showsBranch || record.branchID === branchIDOf(compute);
  return (recordedID(compute) === made && isPlaced) || compute.status.gone === made;
}

/** Reason why a record is still open. */
export type Opening =
  /** A request may still take effect: lists that begin in `forMs` milliseconds decide. */
  | { kind: "waiting"; forMs: number }
  /** Lists come through another base URL than the request went to. */
  | { kind: "elsewhere"; baseURL: string }
  /** Nothing can arrive any more, and endpoints without a name may be what was made. */
  | { kind: "nameless"; candidates: readonly Endpoint[] };

/** Reason why a create or a takeover is open; `undefined`: none is, and the next one may be sent. */
export function openingOf(o: Observation, write: RememberedWrite | undefined): Opening | undefined {
  const open = openWrite(write);
  if (open === undefined || open.record.operation === "move") return undefined;
  if (!isSameService(o, open.record)) return { kind: "elsewhere", baseURL: open.record.through };
  const forMs = settlesInMs(o, open);
  if (forMs > 0) return { kind: "waiting", forMs };
  return { kind: "nameless", candidates: candidatesOf(o, open) };
}

/** In how many milliseconds a list must begin that settles the record; 0: this one did. */
export function settlesInMs(o: Observation, write: RememberedWrite): number {
  const at = settlesAt(write, o.createSettleMs);
  return o.startedAt >= at ? 0 : Math.max(1000, at - o.now);
}

/** Time from which a list closes the open record if it shows no more than this one; infinite: no such list does. */
export function closesAt(o: Observation, write: RememberedWrite): number {
  const { made, openedAt, firstShown, record } = write;
  if (record.operation === "restart") return settlesAt(write, o.createSettleMs);
  // A list that lags may show the branch before.
  if (record.operation === "move")
    return showsMove(o, write) ? openedAt + mostLagMs : settlesAt(write, o.createSettleMs);
  if (!isSameService(o, record)) return Number.POSITIVE_INFINITY;
  const own = ownIn(o);
  if (own === undefined) return settlesAt(write, o.createSettleMs);
  // The endpoint was listed before under another name, and a list that lags shows that again.
  if (record.operation === "takeover") return (firstShown.get(own) ?? o.startedAt) + mostLagMs;
  return own === made ? Number.NEGATIVE_INFINITY : openedAt + mostLagMs;
}

/** True if lists come from the service that the request went to, or a person says that it made nothing there. */
function isSameService(o: Observation, { through }: WriteRecord): boolean {
  return through === "" || through === o.baseURL || isGivenUp(o);
}

/** A person who saw the condition says that the request made nothing. */
function isGivenUp({ compute, annotations: { lossConsent, lossConfirmed } }: Observation): boolean {
  return lossConfirmed || (lossConsent !== undefined && shownReason(compute) === "CreateUnknown");
}

/** Conclusion of a list for the record. */
export function afterList(write: RememberedWrite, o: Observation): RememberedWrite {
  if (write.phase === "closed" || o.laidOver === true) return write;
  const over = { ...closed(write), firstShown: none };
  if (write.phase === "unsent") return isNeeded(write.record, o) ? write : over;
  const isDue = o.startedAt >= closesAt(o, write);
  const { operation } = write.record;
  // Rule 9 waits for the value that the annotation asks for; of any other nothing is to be found out any more.
  if (operation === "restart") return isDue && !isRestartAsked(write.record, o) ? over : write;
  if (operation === "move") return isDue ? over : write;
  if (!isSameService(o, write.record)) return write;
  const own = ownIn(o);
  if (isDue && own !== undefined) return { ...over, made: own };
  if (operation === "takeover") {
    if (own === undefined) return isDue ? over : write;
    return { ...write, firstShown: new Map([[own, write.firstShown.get(own) ?? o.startedAt]]) };
  }
  const firstShown = namelessIn(write, o);
  const isSettled = isDue && (isGivenUp(o) || candidatesOf(o, { ...write, firstShown }).length === 0);
  return isSettled ? over : { ...write, firstShown };
}

/** True if a record of a request that was never sent, or refused, is for something that is still to be done. */
function isNeeded({ operation, to, ...record }: WriteRecord, o: Observation): boolean {
  const { link } = o.links;
  if (operation === "restart") return isRestartAsked(record, o);
  if (operation === "move") return branchIDOf(o.compute) === to && link?.endpoint.branch_id !== to;
  return link === undefined;
}

function isRestartAsked({ value }: Pick<WriteRecord, "value">, { annotations }: Observation): boolean {
  return annotations.restartRequested && annotations.restartedAt === value;
}

/** True if the endpoint is where the move was answered to have led. */
function showsMove({ links }: Observation, { made, record: { to } }: RememberedWrite): boolean {
  const { endpoint } = links.link ?? {};
  return made !== undefined && made === endpoint?.id && endpoint.branch_id === to;
}

function ownIn({ links: { link } }: Observation): string | undefined {
  return link?.proof === "signature" || link?.proof === "created" ? link.endpoint.id : undefined;
}
