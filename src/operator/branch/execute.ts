import { isAboutBranch } from "../../api/error.ts";
import { backingOff } from "../life/back-off.ts";
import { earlierFailure, refusedNow } from "../life/failed-write.ts";
import type { Refusal } from "../life/on-error.ts";
import { after, atOnce, type Requeue } from "../life/outcome.ts";
import { letGo, type PatchedKind, type Patcher, withFinalizer, withStatus } from "../life/patching.ts";
import { unsent } from "../life/record.ts";
import { conditionOf, shownReason } from "../objects/conditions-of.ts";
import { generationOf, isBeingDeleted } from "../objects/object.ts";
import type { Wait } from "../project/gate.ts";
import type { ServiceAccess } from "../project/service-access.ts";
import { type Branch, branchKind, parseBranch } from "../resources/branch.ts";
import { isObserved } from "../resources/management-policy.ts";
import { finalizers } from "../resources/names.ts";
import { soonMs } from "../runtime/waits.ts";
import type { Answer } from "../service-client/answer.ts";
import type { WrittenBranch } from "../service-client/branch-calls.ts";
import { accepted } from "./accepted.ts";
import { type BranchAction, type BranchWrite, identityOf } from "./action.ts";
import type { ExecuteContext } from "./context.ts";
import { type ComputeStep, noteFor } from "./observation.ts";
import { type Outcome, shown, unchanged } from "./outcome.ts";
import { branchReasons, isTroublesome } from "./reasons.ts";
import { attemptOf, resetRecord } from "./record.ts";
import { refused } from "./refused.ts";
import * as words from "./words.ts";

export const branchPatches: PatchedKind<Branch> = {
  kind: branchKind,
  parse: parseBranch,
  finalizer: finalizers.branch,
};

const progressOf = { create: "Creating", patch: "Updating", reset: "Resetting", delete: "Deleting" } as const;

/** Carries out an action: at most one write to the service. */
export async function execute(action: BranchAction, context: ExecuteContext): Promise<Outcome> {
  const { object, access } = context;
  switch (action.kind) {
    case "noop":
      return unchanged(object, { requeue: after(action.afterMs) });
    case "note":
      return unchanged(object, { news: action.news, events: eventsOf(action), requeue: atOnce });
    case "show": {
      const { reason, message, news = {}, afterMs } = action;
      return shown(object, { reason, message }, { news, events: eventsOf(action), requeue: after(afterMs) });
    }
    case "release":
      return release(action, context);
    case "compute":
      return bringCompute(action.step, context);
    case "probe":
      return access === undefined ? unchanged(object, { requeue: after(1000) }) : probe(action.id, context, access);
    case "write":
      return access === undefined ? unchanged(object, { requeue: after(1000) }) : write(action.write, context, access);
  }
}

function eventsOf({ event }: { event?: Outcome["events"][number] }): Outcome["events"] {
  return event === undefined ? [] : [event];
}

async function release(
  { event: reason, message, isUninstalling = false }: Extract<BranchAction, { kind: "release" }>,
  { object, cluster, compute, memory }: ExecuteContext,
): Promise<Outcome> {
  if (!isUninstalling) await compute({ kind: "delete" });
  await letGo(branchPatches, cluster, object, (isReleased) => {
    memory.isReleased = isReleased;
  });
  const events = [{ type: "Normal", reason, message }] as const;
  return { ...unchanged(object, { events }), condition: { kind: "released" } };
}

/** A write that failed is not repeated too soon. */
function whileBackingOff(
  identity: string,
  account: string | undefined,
  { object, memory, clock }: ExecuteContext,
): Outcome | undefined {
  const now = clock.monotonic();
  const failed = backingOff(memory.failed, identity, account, now);
  if (failed === undefined) return undefined;
  return shown(object, { reason: failed.reason, message: failed.message }, { requeue: after(failed.until - now) });
}

async function bringCompute(step: ComputeStep, context: ExecuteContext): Promise<Outcome> {
  const held = whileBackingOff(computeIdentity(step, context.object), undefined, context);
  if (held !== undefined) return held;
  await context.compute(step);
  return unchanged(context.object, { requeue: atOnce });
}

/** The API server refused the change of the owned Compute. */
export function computeRefused(
  step: ComputeStep,
  { reason, said }: { reason: Refusal["reason"]; said: string },
  { object, memory, clock }: Pick<ExecuteContext, "object" | "memory" | "clock">,
): Outcome {
  const message = words.computeRefused(object.metadata.name, said);
  const attempt = { write: computeIdentity(step, object), before: memory.failed };
  const { failed, waitMs } = refusedNow(attempt, { reason, message, requeue: branchReasons[reason].requeue });
  memory.failed = { ...failed, until: clock.monotonic() + waitMs, branches: memory.branches };
  return shown(object, { reason, message }, { requeue: after(waitMs) });
}

function computeIdentity({ kind }: ComputeStep, object: Branch): string {
  return `${generationOf(object)} compute ${kind}`;
}

/** The branch's own GET decides whether one that lists lack is gone. */
async function probe(id: string, context: ExecuteContext, access: ServiceAccess): Promise<Outcome> {
  const { object, memory, signal, clock } = context;
  if (!access.reservation.tryTake("read")) return unchanged(object, { requeue: { kind: "enqueued" } });
  const answer = await access.client.branches.get(object.spec.projectID, id, signal);
  const now = clock.monotonic();
  if (answer.kind === "ok" && !answer.value.isDeleted) {
    memory.missing = undefined;
    memory.listsAfter = now;
    return unchanged(object, { requeue: after(5000) });
  }
  const isGone = answer.kind === "ok" || (answer.kind === "notFound" && isAboutBranch(answer.message));
  if (isGone && memory.missing?.id === id) {
    memory.missing = { ...memory.missing, proved: true };
    return unchanged(object, { requeue: atOnce });
  }
  if (answer.kind === "ok") return unchanged(object, { requeue: after(1000) });
  return shown(object, words.meaningOf(answer, words.doing.show(id)));
}

async function write(planned: BranchWrite, context: ExecuteContext, access: ServiceAccess): Promise<Outcome> {
  const { object, memory, clock } = context;
  const identity = identityOf(planned, generationOf(object));
  const held = whileBackingOff(identity, access.client.fingerprint, context);
  if (held !== undefined) return held;
  if (planned.op === "delete" && (await context.uninstalling())) {
    const message = words.released.uninstalling(planned.id);
    return release({ kind: "release", event: "Released", message, isUninstalling: true }, context);
  }
  if (planned.op === "delete" && !(await context.ownsStill())) return unchanged(object, { requeue: after(soonMs) });
  const waits = access.gate.pass(planned.op === "delete" ? "deletion" : "other");
  const isRepeated = earlierFailure(memory.failed, identity, access.client) !== undefined;
  if (waits !== undefined) return waiting(waits, planned, object, isRepeated);
  const ready = await prepared(planned, context);
  const answer = await send(planned, { ...context, object: ready }, access);
  const now = clock.monotonic();
  memory.listsAfter = now;
  if (answer.kind === "ok") access.lister.operations.follow(answer.value.operations);
  access.gate.answered(answer);
  if (answer.kind === "ok") {
    memory.failed = undefined;
    return accepted(planned, answer.value, { object: ready, memory, fingerprint: access.client.fingerprint }, now);
  }
  return refused(planned, answer, { ...context, object: ready }, access);
}

function waiting(wait: Wait, planned: BranchWrite, object: Branch, isRepeated: boolean): Outcome {
  // Deletions of one project are let through one by one: the others ask again, and learn that the brake holds them.
  const again = planned.op === "delete" && wait === "project";
  const requeue: Requeue = again ? { kind: "after", ms: soonMs, needsNoNewList: true } : { kind: "enqueued" };
  if (wait !== "brake" || planned.op !== "delete") {
    // The wait lasts moments: a status is replaced only where it says nothing yet, or names trouble that is over. The
    // end of trouble before a patch is told by the event Available, which needs the old reason.
    const reason = progressOf[planned.op];
    const before = shownReason(object);
    const isOver = planned.op !== "patch" && isTroublesome(before);
    const isTold = isRepeated || (before !== undefined && !isOver);
    return isTold ? unchanged(object, { requeue }) : shown(object, { reason, message: words.waiting }, { requeue });
  }
  const message = words.deleting.brake(planned.id);
  const isTold = conditionOf(object.status, "Ready")?.message === message;
  const event = { type: "Warning", reason: "Deleting", message } as const;
  return isTold
    ? unchanged(object, { requeue })
    : shown(object, { reason: "Deleting", message }, { requeue, events: [event] });
}

/** The finalizer goes before a create, the record before a reset. */
async function prepared(planned: BranchWrite, { object, memory, cluster, clock }: ExecuteContext): Promise<Branch> {
  if (planned.op === "create" || planned.op === "reset") memory.resetOperations = [];
  if (planned.op === "create") {
    return withFinalizer(branchPatches, cluster, object);
  }
  if (planned.op !== "reset") return object;
  const pendingWrite = resetRecord(planned, object.metadata, clock.now());
  // The patch may be carried out although its answer is lost.
  memory.reset = unsent(pendingWrite);
  return withStatus(branchPatches, cluster, { ...object.status, pendingWrite }, object);
}

/** Puts the finalizer back on a linked object that lost it, as by `kubectl replace`. */
export function restoreFinalizer(object: Branch, cluster: Patcher<Branch>): Promise<Branch> {
  const isHeld = object.status.branchID !== undefined && !isObserved(object);
  if (!isHeld || isBeingDeleted(object)) return Promise.resolve(object);
  return withFinalizer(branchPatches, cluster, object);
}

/** Sends the request, with its record if it has one. */
function send(planned: BranchWrite, context: ExecuteContext, access: ServiceAccess): Promise<Answer<WrittenBranch>> {
  const call = () => request(planned, context, access);
  return attemptOf(planned, context)?.send(call) ?? call();
}

function request(
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
