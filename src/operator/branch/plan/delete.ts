import type { ListedBranch } from "../../../api/branch.ts";
import { mostLagMs } from "../../../api/list-lag.ts";
import { nextProof } from "../../life/gone.ts";
import { isRetained } from "../../objects/deletion-policy.ts";
import { soonMs } from "../../runtime/waits.ts";
import type { BranchAction } from "../action.ts";
import type { ReadonlyMemory } from "../memory.ts";
import { isOurs, notedUID, type Observation } from "../observation.ts";
import { postsSettleAt } from "../record.ts";
import { deleting, namesOf, released } from "../words.ts";
import { rivalFor } from "./claims.ts";
import { isThroughAnother } from "./gone.ts";

/** The deletion of a Branch: deletes what is proved ours, waits for what a late create may leave, and lets go. */
export function planDeletion(o: Observation, memory: ReadonlyMemory): BranchAction {
  const { object, linked, missing } = o;
  if (linked !== undefined) {
    const { listed, by } = linked;
    if (by === "adopted") return { kind: "release", event: "Released", message: released.adopted(listed.id) };
    if (!isOurs(by)) return { kind: "release", event: "Released", message: released.unproved(listed.id) };
    if (rivalFor(o) !== undefined) {
      return { kind: "release", event: "Released", message: deleting.conflict(listed.id) };
    }
    if (isRetained(object)) {
      const message = released.retained(listed.id, listed.expires_at);
      return { kind: "release", event: "Released", message };
    }
    const { deleted } = memory;
    if (deleted?.id === listed.id && o.listing.startedAt < deleted.at + mostLagMs) {
      return { kind: "show", reason: "Deleting", message: deleting.sent(listed.id), afterMs: soonMs };
    }
    return obstacle(o, listed) ?? { kind: "write", write: { op: "delete", id: listed.id } };
  }
  if (missing !== undefined && memory.deleted?.id !== missing && isThroughAnother(o)) {
    if (!isRetained(object)) return { kind: "show", reason: "BranchNotFound", message: deleting.unseen(missing) };
    return { kind: "release", event: "Released", message: released.retained(missing, object.status.expiresAt) };
  }
  // Lists that prove a deletion are as far apart as they may lag.
  const step = missing === undefined ? undefined : nextProof(memory.missing, o.listing.startedAt);
  if (missing !== undefined && step?.kind === "ask") return { kind: "probe", id: missing };
  if (missing !== undefined && step?.kind === "wait") {
    const message = deleting.confirming(missing);
    return { kind: "show", reason: "Deleting", message, afterMs: step.forMs };
  }
  const late = [...o.listing.all].find((one) => notedUID(one) === object.metadata.uid);
  if (late !== undefined && !isRetained(object)) return { kind: "write", write: { op: "delete", id: late.id } };
  const settledAt = postsSettleAt(o, memory);
  if (o.listing.startedAt < settledAt && !isRetained(object)) {
    return {
      kind: "show",
      reason: "Deleting",
      message: deleting.settling,
      afterMs: Math.max(1000, settledAt - o.now + 1),
    };
  }
  const id = memory.deleted?.id ?? missing;
  return id === undefined
    ? { kind: "release", event: "Released", message: released.none }
    : { kind: "release", event: "Deleted", message: released.deleted(id) };
}

/** The obstacle to the branch's deletion, if any. */
function obstacle({ listing, usedBy }: Observation, listed: ListedBranch): BranchAction | undefined {
  const { id } = listed;
  if (listed.default === true) return { kind: "show", reason: "Protected", message: deleting.default(id) };
  if (listed.protected === true) return { kind: "show", reason: "Protected", message: deleting.protected(id) };
  const children = listing.childrenOf(id).map((child) => child.name ?? child.id);
  if (children.length > 0) {
    return { kind: "show", reason: "HasChildren", message: deleting.children(namesOf(children), id) };
  }
  if (usedBy.length === 0) return undefined;
  return { kind: "show", reason: "InUse", message: deleting.inUse(namesOf(usedBy)) };
}
