import { isAboutBranch } from "../../api/error.ts";
import { earlierFailure } from "../life/failed-write.ts";
import { type PatchedKind, type Patcher, patchOf, withFinalizer, withStatus } from "../life/patching.ts";
import { conditionOf, shownReason, timestamp } from "../objects/conditions-of.ts";
import { isBeingDeleted } from "../objects/object.ts";
import type { ServiceAccess } from "../project/access.ts";
import type { Wait } from "../project/gate.ts";
import { type Branch, branchKind, parseBranch } from "../resources/branch.ts";
import { finalizers } from "../resources/names.ts";
import type { Clock } from "../runtime/clock.ts";
import { soonMs } from "../runtime/waits.ts";
import type { Answer } from "../service-client/answer.ts";
import type { WrittenBranch } from "../service-client/branch-calls.ts";
import { type BranchAction, type BranchWrite, identityOf } from "./action.ts";
import { type ComputeStep, noteFor } from "./observation.ts";
import { type Outcome, outcome } from "./outcome.ts";
import { isSameEnd } from "./plan/expiry.ts";
import { isTroublesome } from "./reasons.ts";
import { refused } from "./refused.ts";
import type { BranchMemory } from "./state.ts";
import * as words from "./words.ts";

export const branchPatches: PatchedKind<Branch> = {
  kind: branchKind,
  parse: parseBranch,
  finalizer: finalizers.branch,
};

/** All that carrying out an action needs, in the operator and in `apply` alike. */
export interface ExecuteContext {
  object: Branch;
  memory: BranchMemory;
  cluster: Patcher<Branch>;
  clock: Clock;
  signal: AbortSignal;
  fleet: string | undefined;
  /** `undefined` while the connection is not open. */
  access: ServiceAccess | undefined;
  /** Check of the definition of Branches: while it is being deleted, nothing is deleted at the service. */
  uninstalling: () => Promise<boolean>;
  /** Check that the API server shows the owned Compute as this object's still: one without an owner uses the branch. */
  ownsStill: () => Promise<boolean>;
  /** Brings the owned Compute to what is declared, or deletes it. */
  compute: (step: ComputeStep) => Promise<void>;
}

const progressOf = { create: "Creating", patch: "Updating", reset: "Resetting", delete: "Deleting" } as const;

/** Carries out an action: at most one write to the service. */
export async function execute(action: BranchAction, context: ExecuteContext): Promise<Outcome> {
  const { object, access } = context;
  switch (action.kind) {
    case "noop":
      return outcome(object, { requeue: action.afterMs ?? "byReason" });
    case "note":
      return outcome(object, { news: action.news, events: eventsOf(action), requeue: 1 });
    case "show": {
      const { reason, message, news = {}, afterMs } = action;
      return outcome(object, {
        shown: { reason, message },
        news,
        events: eventsOf(action),
        requeue: afterMs ?? "byReason",
      });
    }
    case "release":
      return release(action, context);
    case "compute":
      await context.compute(action.step);
      return outcome(object, { requeue: 1 });
    case "probe":
      return access === undefined ? outcome(object, { requeue: 1000 }) : probe(action.id, context, access);
    case "write":
      return access === undefined ? outcome(object, { requeue: 1000 }) : write(action.write, context, access);
  }
}

function eventsOf({ event }: { event?: Outcome["events"][number] }): Outcome["events"] {
  return event === undefined ? [] : [event];
}

async function release(
  { event: reason, message, isUninstalling = false }: Extract<BranchAction, { kind: "release" }>,
  { object, cluster, compute }: ExecuteContext,
): Promise<Outcome> {
  if (!isUninstalling) await compute({ kind: "delete" });
  const patch = patchOf(object).removeFinalizer(finalizers.branch);
  if (!patch.isEmpty) await cluster.patch(branchKind, object.metadata, patch.ops());
  return outcome(object, { released: true, events: [{ type: "Normal", reason, message }] });
}

/** The branch's own GET decides whether one that lists lack is gone. */
async function probe(id: string, context: ExecuteContext, access: ServiceAccess): Promise<Outcome> {
  const { object, memory, signal, clock } = context;
  if (!access.reservation.tryTake("read")) return outcome(object, { requeue: "enqueued" });
  const answer = await access.client.branches.get(object.spec.projectID, id, signal);
  const now = clock.monotonic();
  if (answer.kind === "ok" && !answer.value.isDeleted) {
    memory.missing = undefined;
    memory.listsAfter = now;
    return outcome(object, { requeue: 5000 });
  }
  const isGone = answer.kind === "ok" || (answer.kind === "notFound" && isAboutBranch(answer.message));
  if (isGone && memory.missing?.id === id) {
    memory.missing = { ...memory.missing, proved: true };
    return outcome(object, { requeue: 1 });
  }
  if (answer.kind === "ok") return outcome(object, { requeue: 1000 });
  return outcome(object, { shown: words.meaningOf(answer, words.doing.show(id)) });
}

async function write(planned: BranchWrite, context: ExecuteContext, access: ServiceAccess): Promise<Outcome> {
  const { object, memory, clock } = context;
  const failed = earlierFailure(memory.failed, identityOf(planned, object.metadata.generation ?? 0), access.client);
  if (failed !== undefined && clock.monotonic() < failed.until) {
    const { reason, message } = failed;
    return outcome(object, { shown: { reason, message }, requeue: failed.until - clock.monotonic() });
  }
  if (planned.op === "delete" && (await context.uninstalling())) {
    const message = words.released.uninstalling(planned.id);
    return release({ kind: "release", event: "Released", message, isUninstalling: true }, context);
  }
  if (planned.op === "delete" && !(await context.ownsStill())) return outcome(object, { requeue: soonMs });
  const waits = access.gate.pass(planned.op === "delete" ? "deletion" : "other");
  const isRepeated = failed !== undefined || (planned.op === "create" && memory.nameTaken !== undefined);
  if (waits !== undefined) return waiting(waits, planned, object, isRepeated);
  const ready = await prepared(planned, context);
  if (planned.op === "reset") memory.reset = { value: planned.value, fate: "unanswered", at: clock.monotonic() };
  const answer = await send(planned, { ...context, object: ready }, access);
  const now = clock.monotonic();
  memory.listsAfter = now;
  if (answer.kind === "ok") access.lister.operations.follow(answer.value.operations);
  access.gate.answered(answer);
  if (answer.kind === "ok") {
    memory.failed = undefined;
    return accepted(planned, answer.value, { object: ready, memory, through: access.client.through }, now);
  }
  return refused(planned, answer, { ...context, object: ready }, access);
}

function waiting(wait: Wait, planned: BranchWrite, object: Branch, isRepeated: boolean): Outcome {
  // Deletions of one project are let through one by one: the others ask again, and learn that the brake holds them.
  const again = planned.op === "delete" && wait === "project";
  const enqueued = outcome(object, again ? { requeue: soonMs, keepsList: true } : { requeue: "enqueued" });
  if (wait !== "brake" || planned.op !== "delete") {
    // The wait lasts moments: a status is replaced only where it says nothing yet, or names trouble that is over. The
    // end of trouble before a patch is told by the event Available, which needs the old reason.
    const reason = progressOf[planned.op];
    const before = shownReason(object);
    const isOver = planned.op !== "patch" && isTroublesome(before);
    const isTold = isRepeated || (before !== undefined && !isOver);
    return isTold ? enqueued : { ...enqueued, shown: { reason, message: words.waiting } };
  }
  const message = words.deleting.brake(planned.id);
  const isTold = conditionOf(object.status, "Ready")?.message === message;
  const event = { type: "Warning", reason: "Deleting", message } as const;
  return isTold ? enqueued : { ...enqueued, shown: { reason: "Deleting", message }, events: [event] };
}

/** The finalizer goes before a create, the record before a reset. */
async function prepared(planned: BranchWrite, { object, memory, cluster, clock }: ExecuteContext): Promise<Branch> {
  if (planned.op === "create") {
    return withFinalizer(branchPatches, cluster, object);
  }
  if (planned.op !== "reset") return object;
  const { id: branchID, value, lastResetAt } = planned;
  const { uid } = object.metadata;
  const record = { uid, operation: "reset", value, since: timestamp(clock.now()), branchID };
  const pendingWrite = lastResetAt === undefined ? record : { ...record, lastResetAt };
  // The patch may be carried out although its answer is lost.
  memory.reset = { value, fate: "unsent", at: clock.monotonic() };
  return withStatus(branchPatches, cluster, { ...object.status, pendingWrite }, object);
}

/** Puts the finalizer back on a linked object that lost it, as by `kubectl replace`. */
export function restoreFinalizer(object: Branch, cluster: Patcher<Branch>): Promise<Branch> {
  if (object.status.branchID === undefined || isBeingDeleted(object)) return Promise.resolve(object);
  return withFinalizer(branchPatches, cluster, object);
}

function send(
  planned: BranchWrite,
  context: ExecuteContext,
  { client }: ServiceAccess,
): Promise<Answer<WrittenBranch>> {
  const { object, signal, fleet } = context;
  const { projectID } = object.spec;
  const { branches } = client;
  switch (planned.op) {
    case "create": {
      const body = { branch: planned.body, annotation_value: noteFor(object, fleet) };
      return branches.create(projectID, body, signal);
    }
    case "patch":
      return branches.patch(projectID, planned.id, { branch: planned.body }, signal);
    case "reset":
      return branches.reset(projectID, planned.id, planned.sourceID, signal);
    case "delete":
      return branches.delete(projectID, planned.id, signal);
  }
}

function accepted(
  planned: BranchWrite,
  { branch }: WrittenBranch,
  { object, memory, through: observedThrough }: Pick<ExecuteContext, "object" | "memory"> & { through: string },
  now: number,
): Outcome {
  switch (planned.op) {
    case "create": {
      memory.nameTaken = undefined;
      memory.answeredPost = now;
      if (branch === undefined) return outcome(object, { requeue: 1000 });
      const { id } = branch;
      const proof = { uid: object.metadata.uid, branchID: id, by: "created" };
      return outcome(object, {
        shown: { reason: "Creating", message: words.creating.sent(planned.name) },
        news: {
          branchID: id,
          proof,
          observedThrough,
          gone: undefined,
          ...ended(planned.end, branch.expires_at, memory, now),
        },
        answered: branch,
        isApplied: true,
        events: [{ type: "Normal", reason: "Created", message: `${words.creating.found(planned.name)} ${id}` }],
        requeue: 500,
      });
    }
    case "patch": {
      const { end } = planned;
      const news = end === undefined ? {} : ended(end, branch?.expires_at, memory, now);
      return outcome(object, { news, answered: branch, isApplied: true, requeue: 1000 });
    }
    case "reset": {
      const { id, value } = planned;
      memory.reset = { value, fate: "answered", at: now };
      return outcome(object, {
        shown: { reason: "Resetting", message: words.resets.sent(id) },
        news: { resetAt: value, pendingWrite: undefined, appliedExpiry: undefined },
        answered: branch,
        events: [{ type: "Normal", reason: "Reset", message: words.resets.done(id) }],
        requeue: 1000,
      });
    }
    case "delete":
      memory.deleted = { id: planned.id, at: now };
      return outcome(object, {
        shown: { reason: "Deleting", message: words.deleting.sent(planned.id) },
        requeue: 1000,
      });
  }
}

/** The end counts as applied once the service shows it: one that ignores it is found out by lists. */
function ended(
  { expiry, at }: { expiry: string; at: string | undefined },
  shown: string | undefined,
  memory: BranchMemory,
  now: number,
): Outcome["news"] {
  memory.unansweredEnds = memory.unansweredEnds.filter((one) => one.expiry !== expiry);
  if (isSameEnd(at, shown)) {
    memory.unseenEnd = undefined;
    return { appliedExpiry: expiry, appliedEnd: at };
  }
  const before = memory.unseenEnd?.expiry === expiry ? memory.unseenEnd : undefined;
  const resent = before === undefined ? 0 : before.resent + 1;
  memory.unseenEnd = { expiry, at, sentAt: now, resent, differsSince: undefined };
  return {};
}
