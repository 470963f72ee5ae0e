import { type Endpoint, hasUnreadableName } from "../../../api/endpoint.ts";
import type { Compute } from "../../resources/compute.ts";
import { markerOf } from "../../resources/names.ts";
import { holderOf, olderFirst } from "../observe/claims.ts";
import { endpointNamedBy, hasArrived, ownershipOf, type Proof, recordedID } from "../observe/ownership.ts";
import { type PendingCreate, pendingCreateOf } from "../observe/pending-operations.ts";
import { type EndpointSnapshot, hasFinalizer, isPaused, type PlanInput, who } from "../observe/plan-input.ts";
import * as messages from "../status/messages/create-unknown.ts";
import type { Action } from "./action.ts";
import type { Rule } from "./rule.ts";

/**
 * A create whose outcome is not known. The endpoint that carries the marker settles it (rule `linkInOrder`). Another
 * POST only when that is safe: at once for a primary, which the service refuses to have twice; for a replica when two
 * lists lack it, the second begun `--create-settle` after this process first saw the mark. Where names are hidden, a
 * replica waits for a person.
 */
export const pendingCreate: Rule = (view, list) => {
  if (list.links.link !== undefined) return undefined;
  const mark = pendingMark(view);
  if (mark === undefined) return undefined;
  if (!hasFinalizer(view.compute)) return { kind: "restorePending", mark };
  const outcome = outcomeOfCreate(view, list);
  return outcome === "absent" ? undefined : outcome;
};

/** The mark of a create that is not settled, also where kubectl replace dropped it together with our finalizer. */
export function pendingMark({ compute, memory }: PlanInput): PendingCreate | undefined {
  return pendingCreateOf(compute) ?? (hasFinalizer(compute) ? undefined : memory.pendingCreate?.mark);
}

/** The mark that stays although the Compute has its endpoint. */
export function markToKeep(view: PlanInput, proof: Proof): { keepsMark?: PendingCreate } {
  const mark = anotherMayArrive(view, proof) ? pendingMark(view) : undefined;
  return mark === undefined ? {} : { keepsMark: mark };
}

/** Whether the Compute has its endpoint, and another may yet arrive from a POST that was given up. */
export function anotherMayArrive(view: PlanInput, proof: Proof): boolean {
  return mayArriveForMs(view, proof) > 0;
}

/** For how many milliseconds another may yet arrive; 0 where none can. */
export function mayArriveForMs(view: PlanInput, proof: Proof): number {
  const { memory, now, createSettleMs } = view;
  const mark = pendingMark(view);
  if (mark === undefined || hasArrived(mark, proof)) return 0;
  return Math.max(0, (memory.pendingCreate?.seenAt ?? now) + createSettleMs - now);
}

/** Finds out what became of a POST: a step that says so, or `absent` where it is proved to have made nothing. */
export function outcomeOfCreate(view: PlanInput, list: EndpointSnapshot): Action | "absent" {
  const mark = pendingMark(view);
  if (mark === undefined) return "absent";
  const candidates = candidatesFor(view, list, mark);
  const unreadable = candidates.filter(hasUnreadableName);
  const unnamed = list.markers === "shown" ? unreadable : candidates;
  const named = unnamed.find(({ id }) => id === endpointNamedBy(view.compute));
  // A person who names one knows what the lists do not tell.
  if (named !== undefined) return { kind: "link", endpointID: named.id, proof: "adopted", news: "adopted" };
  if (!showsPlaceOf(mark, view.compute, list))
    return unknown(messages.sentElsewhere(markerOf(view.compute.metadata.uid)));
  if (unreadable.length > 0) return unknown(messages.unreadableNames(idsOf(unreadable), isDeleted(view.compute)));
  if (list.markers === "shown") return outcomeByLists(view, list, mark);
  if (view.compute.spec.type === "read_write") return outcomeOfPrimary(view, list, mark, candidates);
  // Without any candidate nothing depends on a name; but where names are hidden, one that comes late would never show.
  if (list.markers === "unknown" && candidates.length === 0) return outcomeByLists(view, list, mark);
  return unknown(messages.hiddenNames(idsOf(candidates), isDeleted(view.compute)));
}

/**
 * Whether the lists show the place where the create was sent: they come through the same base URL and key, or through
 * those that have shown what the Compute was linked to since.
 */
function showsPlaceOf(mark: PendingCreate, compute: Compute, { through }: EndpointSnapshot): boolean {
  if (mark.through === through) return true;
  return isRecordedSince(mark, compute) && compute.status.observedThrough === through;
}

/** Whether an endpoint is recorded in the Compute that is not the one which the create replaces. */
function isRecordedSince(mark: PendingCreate, compute: Compute): boolean {
  const recorded = recordedID(compute);
  return recorded !== undefined && recorded !== mark.replaces;
}

/**
 * Where names do not tell, the one primary that has appeared on the branch is taken, without proof: it is let go when
 * the Compute is deleted. While it stands, the service refuses whatever may yet arrive.
 */
function outcomeOfPrimary(
  view: PlanInput,
  list: EndpointSnapshot,
  mark: PendingCreate,
  candidates: readonly Endpoint[],
): Action | "absent" {
  // An endpoint that is recorded settled the create. A primary that appears after the loss of that one is another's.
  if (isRecordedSince(mark, view.compute)) return outcomeByLists(view, list, mark);
  const appeared = candidates.filter(({ branch_id }) => branch_id === branchOf(mark, view.compute));
  const [only] = appeared;
  if (only === undefined) return outcomeByLists(view, list, mark);
  if (appeared.length > 1) return unknown(messages.hiddenNames(idsOf(appeared), isDeleted(view.compute)));
  if (list.links.link?.endpoint.id === only.id) return "absent";
  const first = firstToTake(only, view, list);
  if (first !== undefined)
    return { ...unknown(messages.othersFirst(who(first), only.id)), requeueAfterMs: anothersLinkMs };
  return { kind: "link", endpointID: only.id, proof: "none", news: "created", ...markToKeep(view, "none") };
}

/** How soon it is checked again whether another Compute took the primary, in milliseconds. */
const anothersLinkMs = 5_000;

/**
 * The other Compute that is to take a primary which its own pending create may have made as well. Both see the same
 * order, so only one of them takes it: one that stays before one that is being deleted, then the older.
 */
function firstToTake(
  { branch_id, type }: Endpoint,
  { compute, claimants }: PlanInput,
  list: EndpointSnapshot,
): Compute | undefined {
  const mayTake = (other: Compute) => {
    const mark = pendingCreateOf(other);
    if (mark === undefined || isPaused(other) || isRecordedSince(mark, other)) return false;
    return ownershipOf(other, list.endpoints).link === undefined;
  };
  const [first] = [compute, ...claimants.creatingOn(branch_id, type).filter(mayTake)].toSorted(
    (a, b) => Number(isDeleted(a)) - Number(isDeleted(b)) || olderFirst(a, b),
  );
  return first?.metadata.uid === compute.metadata.uid ? undefined : first;
}

/** No list shows the endpoint: after a while, by two of them, the POST is proved to have made nothing. */
function outcomeByLists(view: PlanInput, list: EndpointSnapshot, mark: PendingCreate): Action | "absent" {
  const { compute, memory, createSettleMs, now } = view;
  const deleting = isDeleted(compute);
  // Only on the branch of that POST a second primary is refused.
  const refusable = compute.spec.type === "read_write" && mark.branchID === compute.spec.branchID;
  if (refusable && !deleting) return "absent";
  const pending = memory.pendingCreate;
  const settlesAt = (pending?.seenAt ?? now) + createSettleMs;
  const before = pending?.firstListWithout;
  if (before !== undefined && before < list.startedAt && list.startedAt >= settlesAt) return "absent";
  return {
    kind: "wait",
    reason: "CreateUnknown",
    message: messages.searching(markerOf(compute.metadata.uid), createSettleMs, deleting),
    requeueAfterMs: Math.max(1000, settlesAt - now),
  };
}

/**
 * Endpoints that the POST may have made, by all but their names: no other Compute's, of this type, on the branch of the
 * create or of the spec, and without a name that could be read.
 */
function candidatesFor(
  { compute, claimants }: PlanInput,
  { endpoints }: EndpointSnapshot,
  mark: PendingCreate,
): Endpoint[] {
  const branches = [branchOf(mark, compute), compute.spec.branchID];
  return endpoints.all.filter((endpoint) => {
    const placed = branches.includes(endpoint.branch_id) && endpoint.type === compute.spec.type;
    if (!placed || endpoint.name !== undefined) return false;
    const holder = holderOf(endpoint, claimants, endpoints);
    return holder === undefined || holder.metadata.uid === compute.metadata.uid;
  });
}

function branchOf({ branchID }: PendingCreate, { spec }: Compute): string {
  return branchID === "" ? spec.branchID : branchID;
}

function unknown(message: string): Extract<Action, { kind: "wait" }> {
  return { kind: "wait", reason: "CreateUnknown", message };
}

function isDeleted({ metadata }: Compute): boolean {
  return metadata.deletionTimestamp !== undefined;
}

function idsOf(endpoints: readonly Endpoint[]): string[] {
  return endpoints.map(({ id }) => id);
}
