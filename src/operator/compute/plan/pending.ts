import { type Endpoint, hasUnreadableName } from "../../../api/endpoint.ts";
import { branchIDOf, type Compute } from "../../resources/compute.ts";
import { conditionOf } from "../../resources/conditions-of.ts";
import { signatureOf } from "../../resources/signature.ts";
import { branchOf, isRecordedSince, type PendingCreate, unknownBranch } from "../observe/annotations.ts";
import { firstToTake, holderOf } from "../observe/claims.ts";
import {
  generationOf,
  hasFinalizer,
  isBeingDeleted,
  isMarkDropped,
  type Observation,
  type Subject,
  shownReason,
  who,
} from "../observe/observation.ts";
import { endpointNamedBy, hasArrived, type Proof } from "../observe/ownership.ts";
import type { ReadonlyState } from "../remembered.ts";
import * as messages from "../status/messages/conditions.ts";
import { type Action, leftUntil, type PlanRule } from "./action.ts";

/**
 * A create whose outcome is not known. The endpoint that carries the marker settles it (rule `ensureLink`). Another
 * POST only when that is safe: at once for a primary, which the service refuses to have twice; for a replica when two
 * lists lack it, the second begun `--create-settle` after this process first saw the mark. Where names are hidden, a
 * replica waits for a person.
 */
export const pendingCreate: PlanRule = (o, s) => {
  if (o.links.link !== undefined) return undefined;
  const mark = pendingMark(o, s) ?? markDroppedUnseen(o, s);
  if (mark === undefined) return undefined;
  if (!hasFinalizer(o.compute)) return { kind: "restorePending", mark };
  const outcome = outcomeOfCreate(o, s);
  return outcome === "absent" ? undefined : outcome;
};

/** The mark of a create that is not settled, also if kubectl replace dropped it together with our finalizer. */
export function pendingMark({ compute, annotations }: Subject, s: ReadonlyState): PendingCreate | undefined {
  return annotations.pendingCreate ?? (hasFinalizer(compute) ? undefined : s.pendingCreate?.mark);
}

/**
 * The mark that kubectl replace dropped while no process watched: the status, which it keeps, shows the create. One of
 * a takeover is put back as that of a create: what is signed is waited for as what is made.
 */
function markDroppedUnseen(
  { compute, annotations, fingerprint }: Observation,
  { signed }: ReadonlyState,
): PendingCreate | undefined {
  // This process knows what it signed.
  if (signed?.over !== undefined || !isMarkDropped(compute, annotations)) return undefined;
  return markByStatus(compute, fingerprint);
}

/** The mark of a create of which the status alone tells. */
function markByStatus(compute: Compute, through: string): PendingCreate {
  const since = conditionOf(compute.status, "Ready")?.lastTransitionTime ?? "";
  // An edit may have been of the branch, and the status may be of a later generation than the create.
  const isEdited = generationOf(compute) !== 1;
  const branchID = (isEdited ? undefined : compute.spec.branchID) ?? unknownBranch;
  return { uid: compute.metadata.uid, since, branchID, through };
}

/**
 * The same of a create in place of a lost endpoint, which the status still names. Only the reason tells that
 * it was sent.
 */
export function replacementDroppedUnseen({ compute, annotations }: Subject): PendingCreate | undefined {
  const { state, endpointID, observedThrough } = compute.status;
  const isMarked = annotations.endpointID !== undefined || annotations.pendingCreate !== undefined;
  if (hasFinalizer(compute) || isMarked || state !== "Lost" || shownReason(compute) !== "CreateUnknown")
    return undefined;
  if (endpointID === undefined || observedThrough === undefined) return undefined;
  return { ...markByStatus(compute, observedThrough), replaces: endpointID };
}

/** The mark that stays although the Compute has its endpoint. */
export function markToKeep(o: Subject, s: ReadonlyState, proof: Proof): { keepsMark?: PendingCreate } {
  const mark = mayArriveForMs(o, s, proof) > 0 ? pendingMark(o, s) : undefined;
  return mark === undefined ? {} : { keepsMark: mark };
}

/** How long another endpoint may still arrive from an earlier POST, in milliseconds; 0: none can. */
export function mayArriveForMs(o: Subject, s: ReadonlyState, proof: Proof): number {
  const mark = pendingMark(o, s);
  if (mark === undefined || hasArrived(mark, proof)) return 0;
  return Math.max(0, (s.pendingCreate?.seenAt ?? o.now) + o.createSettleMs - o.now);
}

/** Finds out what became of a POST: an action that resolves it, or `absent` if it is proved to have made nothing. */
export function outcomeOfCreate(o: Observation, s: ReadonlyState): Action | "absent" {
  const { compute, markers } = o;
  const mark = pendingMark(o, s);
  if (mark === undefined) return "absent";
  const candidates = candidatesFor(o, mark);
  const unreadable = candidates.filter(hasUnreadableName);
  const unnamed = markers === "shown" ? unreadable : candidates;
  const named = unnamed.find(({ id }) => id === endpointNamedBy(compute));
  // A person who names one knows what the lists do not show.
  if (named !== undefined) return { kind: "link", endpointID: named.id, proof: "adopted", news: "adopted" };
  if (!showsPlaceOf(mark, o)) return unknown(messages.sentElsewhere(signatureOf(compute, o.fleet)));
  if (unreadable.length > 0) return unknown(messages.unreadableNames(idsOf(unreadable), isBeingDeleted(compute)));
  if (markers === "shown") return outcomeByLists(o, s, mark);
  if (compute.spec.type === "read_write") return outcomeOfPrimary(o, s, mark, candidates);
  // Without any candidate nothing depends on a name; but where names are hidden, one that comes late would never show.
  if (markers === "unknown" && candidates.length === 0) return outcomeByLists(o, s, mark);
  return unknown(messages.hiddenNames(idsOf(candidates), isBeingDeleted(compute)));
}

/**
 * Whether the lists show the place where the create was sent: they come through the same base URL and key, or through
 * those that have shown the endpoint linked since.
 */
function showsPlaceOf(mark: PendingCreate, { compute, annotations, fingerprint }: Observation): boolean {
  if (mark.through === fingerprint) return true;
  return isRecordedSince(mark, annotations.recordedID) && compute.status.observedThrough === fingerprint;
}

/** How soon it is checked again whether another Compute took the primary, in milliseconds. */
const othersLinkMs = 5_000;

/**
 * Where names do not tell, the one primary that has appeared on the branch is taken, without proof: it is kept when the
 * Compute is deleted. While it stands, the service refuses any other that may still arrive.
 */
function outcomeOfPrimary(
  o: Observation,
  s: ReadonlyState,
  mark: PendingCreate,
  candidates: readonly Endpoint[],
): Action | "absent" {
  const { compute } = o;
  const isAnywhere = mark.branchID === unknownBranch;
  const appeared = candidates.filter(({ branch_id }) => isAnywhere || branch_id === branchOf(mark, compute));
  if (isRecordedSince(mark, o.annotations.recordedID)) {
    // A recorded endpoint settled the create, and a primary that appears after the loss of that one is another's; or it
    // is what a POST made that was sent again, and another create on the branch that the spec names would be too many.
    const isMoved = mark.branchID !== branchIDOf(compute) && !isBeingDeleted(compute);
    const isPerhapsOurs = mark.resent === true && isMoved && appeared.length > 0;
    return isPerhapsOurs ? unknown(messages.hiddenNames(idsOf(appeared), false)) : outcomeByLists(o, s, mark);
  }
  const [only] = appeared;
  if (only === undefined) return outcomeByLists(o, s, mark);
  if (appeared.length > 1 || isAnywhere) return unknown(messages.hiddenNames(idsOf(appeared), isBeingDeleted(compute)));
  if (o.links.link?.endpoint.id === only.id) return "absent";
  const first = firstToTake(only, compute, o.claimants, o.endpoints);
  if (first !== undefined)
    return { ...unknown(messages.othersFirst(who(first), only.id)), requeueAfterMs: othersLinkMs };
  return { kind: "link", endpointID: only.id, proof: "none", news: "created", ...markToKeep(o, s, "none") };
}

/** No list shows the endpoint: after a while, by two of them, the POST is proved to have made nothing. */
function outcomeByLists(
  { compute, createSettleMs, fleet, now, startedAt }: Observation,
  { pendingCreate: pending }: ReadonlyState,
  mark: PendingCreate,
): Action | "absent" {
  const isDeleted = isBeingDeleted(compute);
  // Only on the branch of that POST a second primary is refused.
  const isRefusable = compute.spec.type === "read_write" && mark.branchID === branchIDOf(compute);
  if (isRefusable && !isDeleted) return "absent";
  const settlesAt = (pending?.seenAt ?? now) + createSettleMs;
  const before = pending?.firstListWithout;
  if (before !== undefined && before < startedAt && startedAt >= settlesAt) return "absent";
  const message = messages.searching(signatureOf(compute, fleet), createSettleMs, isDeleted);
  return { ...unknown(message), requeueAfterMs: leftUntil(settlesAt, now) };
}

/**
 * Endpoints that the POST may have made, by all but their names: no other Compute's, of this type, on the branch of the
 * create or of the spec, and without a name that could be read. Where the branch of the create is not known, on any.
 */
function candidatesFor({ compute, claimants, endpoints, makerOf }: Observation, mark: PendingCreate): Endpoint[] {
  const branches = [branchOf(mark, compute), branchIDOf(compute)];
  return endpoints.all.filter((endpoint) => {
    const isPlaced = mark.branchID === unknownBranch || branches.includes(endpoint.branch_id);
    if (!isPlaced || endpoint.type !== compute.spec.type || endpoint.name !== undefined) return false;
    const maker = makerOf?.(endpoint.id);
    if (maker !== undefined) return maker === compute.metadata.uid;
    const holder = holderOf(endpoint, claimants, endpoints);
    return holder === undefined || holder.metadata.uid === compute.metadata.uid;
  });
}

function unknown(message: string): Extract<Action, { kind: "wait" }> {
  return { kind: "wait", reason: "CreateUnknown", message };
}

function idsOf(endpoints: readonly Endpoint[]): string[] {
  return endpoints.map(({ id }) => id);
}
