import { type Endpoint, hasUnreadableName } from "../../../api/endpoint.ts";
import type { Compute } from "../../resources/compute.ts";
import { sameService } from "../../resources/through.ts";
import { holderOf, olderFirst } from "../observe/claims.ts";
import { endpointNamedBy, hasArrived, linksOf, type Proof } from "../observe/link.ts";
import { type CreateMark, createMarkOf } from "../observe/marks.ts";
import { isGuarded, type List, type View, who } from "../observe/view.ts";
import type { Step } from "../step.ts";
import type { Rule } from "./rule.ts";

/**
 * A create whose outcome is not known. The endpoint that carries the marker settles it (rule `linkInOrder`). Another
 * POST only when that is safe: at once for a primary, which the service refuses to have twice; for a replica when two
 * lists lack it, the second begun `--create-settle` after this process first saw the mark.
 */
export const pendingCreate: Rule = (view, list) => {
  if (list.links.link !== undefined) return undefined;
  const mark = pendingMark(view);
  if (mark === undefined) return undefined;
  if (!isGuarded(view.compute)) return { step: "remark", mark };
  const outcome = outcomeOfCreate(view, list);
  return outcome === "absent" ? undefined : outcome;
};

/** The mark of a create that is not settled, also where kubectl replace dropped it together with our finalizer. */
export function pendingMark({ compute, memory }: View): CreateMark | undefined {
  return createMarkOf(compute) ?? (isGuarded(compute) ? undefined : memory.pendingCreate?.mark);
}

/** The mark that stays although the Compute has its endpoint. */
export function markToKeep(view: View, proof: Proof): { keepsMark?: CreateMark } {
  const mark = anotherMayArrive(view, proof) ? pendingMark(view) : undefined;
  return mark === undefined ? {} : { keepsMark: mark };
}

/** Whether the Compute has its endpoint, and another may yet arrive from a POST that was given up. */
export function anotherMayArrive(view: View, proof: Proof): boolean {
  return mayArriveForMs(view, proof) > 0;
}

/** For how many milliseconds another may yet arrive; 0 where none can. */
export function mayArriveForMs(view: View, proof: Proof): number {
  const { memory, now, createSettleMs } = view;
  const mark = pendingMark(view);
  if (mark === undefined || hasArrived(mark, proof)) return 0;
  return Math.max(0, (memory.pendingCreate?.seenAt ?? now) + createSettleMs - now);
}

/** Finds out what became of a POST: a step that says so, or `absent` where it is proved to have made nothing. */
export function outcomeOfCreate(view: View, list: List): Step | "absent" {
  const { compute, memory, createSettleMs, now } = view;
  const deleting = compute.metadata.deletionTimestamp !== undefined;
  const mark = createMarkOf(compute);
  const unowned = unownedEndpoints(view, list);
  const unreadable = unowned.filter(hasUnreadableName);
  const newcomers = unowned.filter((endpoint) => mayBeNew(view, endpoint));
  const [only] = newcomers;
  const noted = othersNoted(view, list);
  if (noted !== undefined) return { step: "remark", mark: noted };
  // A person who names one knows what the lists do not tell.
  const named = unowned.find(({ id }) => id === endpointNamedBy(compute));
  if ((list.markers !== "shown" || unreadable.length > 0) && named !== undefined) {
    return { step: "link", endpointID: named.id, proof: "adopted", news: "adopted" };
  }
  if (!throughTheSame(mark?.through, list)) {
    return {
      step: "wait",
      reason: "CreateUnknown",
      message: `A create was sent through another base URL or key, its outcome is not known, and its endpoint is not listed here. Look for k8s-${compute.metadata.uid} there; then remove the annotation compute-operator.dev/pending-create.`,
    };
  }
  if (unreadable.length > 0)
    return { step: "wait", reason: "CreateUnknown", message: unreadableName(unreadable, deleting) };
  if (list.markers === "hidden" && newcomers.length === 1 && only !== undefined) {
    return takeNewcomer(view, list, only);
  }
  if (list.markers === "hidden" || (list.markers === "unknown" && newcomers.length > 0)) {
    return { step: "wait", reason: "CreateUnknown", message: undecidable(newcomers, deleting) };
  }
  // Only on the branch of that POST a second primary is refused.
  const refusable = compute.spec.type === "read_write" && mark?.branchID === compute.spec.branchID;
  if (refusable && !deleting) return "absent";
  const pending = memory.pendingCreate;
  const settlesAt = (pending?.seenAt ?? now) + createSettleMs;
  const before = pending?.firstListWithout;
  if (before !== undefined && before < list.startedAt && list.startedAt >= settlesAt) return "absent";
  return {
    step: "wait",
    reason: "CreateUnknown",
    message: `A create was sent and its outcome is not known. Lists are looked through for the endpoint named k8s-${compute.metadata.uid} for ${createSettleMs / 1000} s (--create-settle); only then ${deleting ? "is the Compute let go" : "another create is sent"}.`,
    lookInMs: Math.max(1000, settlesAt - now),
  };
}

/** A newcomer in the lists for so long, in milliseconds, is not that of a create whose answer is still being noted. */
const notedWithinMs = 10_000;

/**
 * The only newcomer is taken for the one made, unless it may be another Compute's: of several that wait for one in the
 * same place the oldest takes it, and none before whoever was told of it had the time to note that.
 */
function takeNewcomer(view: View, list: List, { id }: Endpoint): Step {
  const { memory, now } = view;
  const since = memory.pendingCreate?.nameless?.get(id) ?? list.startedAt;
  const isNoted = list.startedAt - since >= notedWithinMs;
  const first = firstInLine(view, list);
  if (isNoted && first === undefined) return { step: "link", endpointID: id, proof: "created", news: "created" };
  const ahead = first === undefined ? "" : ` First ${who(first)}, which is older, has to find out about its own.`;
  return {
    step: "wait",
    reason: "CreateUnknown",
    message: `A create was sent and its outcome is not known; this service shows no names. Endpoint ${id} is new, and is taken over as soon as it is sure that no other Compute made it.${ahead}`,
    lookInMs: Math.max(1000, since + notedWithinMs - now),
  };
}

/** The older Compute that waits for an endpoint in the same place; `undefined` where this one is next. */
function firstInLine({ compute, rivals }: View, { endpoints }: List): Compute | undefined {
  const branchID = createMarkOf(compute)?.branchID;
  return rivals.inProject().find((other) => {
    if (other.metadata.uid === compute.metadata.uid || other.spec.type !== compute.spec.type) return false;
    const waits = createMarkOf(other)?.branchID === branchID && linksOf(other, endpoints).link === undefined;
    return waits && olderFirst(compute, other) > 0;
  });
}

/**
 * Whether a list tells of the place where the create was sent. Another key of the same service sees the same project,
 * unless it is shown nothing at all there.
 */
function throughTheSame(through: string | undefined, list: List): boolean {
  if (through === undefined || through === list.through) return true;
  return sameService(through, list.through) && list.endpoints.all.length > 0;
}

/** Endpoints that names do not tell of: nobody's, of this type, and on the branch of the create or of the spec. */
function unownedEndpoints({ compute, rivals }: View, list: List): Endpoint[] {
  const mark = createMarkOf(compute);
  if (mark === undefined) return [];
  const branches = [branchOf(mark, compute), compute.spec.branchID];
  return list.endpoints.all.filter((endpoint) => {
    const placed = branches.includes(endpoint.branch_id) && endpoint.type === compute.spec.type;
    if (!placed || endpoint.name !== undefined) return false;
    const holder = holderOf(endpoint, rivals, list.endpoints);
    return holder === undefined || holder.metadata.uid === compute.metadata.uid;
  });
}

/**
 * Whether an endpoint stands where the create was to make one, was not there before, and was no other Compute's since.
 */
function mayBeNew({ compute, memory }: View, endpoint: Endpoint): boolean {
  return isWhereCreated(compute, endpoint) && memory.pendingCreate?.others?.has(endpoint.id) !== true;
}

/**
 * The mark with what other Computes had since, where names do not tell whose it is: whoever leads next must know too
 * that it is not ours, though the other may have let it go by then.
 */
function othersNoted({ compute, memory }: View, list: List): CreateMark | undefined {
  const mark = createMarkOf(compute);
  const others = memory.pendingCreate?.others;
  if (mark === undefined || others === undefined || list.markers === "shown" || !isGuarded(compute)) return undefined;
  const had = list.endpoints.all
    .filter((endpoint) => endpoint.type === compute.spec.type && endpoint.name === undefined)
    .filter((endpoint) => others.has(endpoint.id) && isWhereCreated(compute, endpoint));
  if (had.length === 0) return undefined;
  return { ...mark, before: [...mark.before, ...had.map(({ id }) => id)].toSorted() };
}

/** Whether an endpoint stands on the branch of a Compute's pending create, and did not before it. */
export function isWhereCreated(compute: Compute, { id, branch_id }: Endpoint): boolean {
  const mark = createMarkOf(compute);
  return mark !== undefined && branch_id === branchOf(mark, compute) && !mark.before.includes(id);
}

/** Of the create; a mark that does not say was made for the branch of the spec. */
function branchOf({ branchID }: CreateMark, { spec }: Compute): string {
  return branchID === "" ? spec.branchID : branchID;
}

/** The name is what proves whose an endpoint is: where it cannot be read, no list proves that ours is not there. */
function unreadableName(endpoints: readonly Endpoint[], deleting: boolean): string {
  const ids = endpoints.map(({ id }) => id).toSorted();
  const otherwise = deleting ? "let the Compute go" : "have another create sent";
  return `A create was sent and its outcome is not known: the names of endpoints that it may have made cannot be read. Set spec.adopt.endpointID to the one that it made, or remove the annotation compute-operator.dev/pending-create to ${otherwise}: ${ids.join(", ")}.`;
}

function undecidable(newcomers: readonly Endpoint[], deleting: boolean): string {
  const found =
    newcomers.length === 0
      ? "no new endpoint is listed"
      : `any of these could be it: ${newcomers
          .map(({ id }) => id)
          .toSorted()
          .join(", ")}`;
  const otherwise = deleting ? "if there is none: then the Compute is let go" : "to have one created";
  return `A create was sent and its outcome is not known; this service shows no names, and ${found}. Set spec.adopt.endpointID to the right one, or remove the annotation compute-operator.dev/pending-create ${otherwise}.`;
}
