import type { Endpoint } from "../../../api/endpoint.ts";
import { hasFinalizer } from "../../../operator/compute/observe/observation.ts";
import type { Action } from "../../../operator/compute/plan/action.ts";
import { released } from "../../../operator/compute/words/deletion.ts";
import { reasons } from "../../../operator/compute/words/reasons.ts";
import { compare, desiredSpec, isDeprecated } from "../../../operator/fields/compare.ts";
import { shownReason } from "../../../operator/objects/conditions-of.ts";
import { placeOf } from "../../../operator/objects/object.ts";
import { branchIDOf, branchInWords, type Compute } from "../../../operator/resources/compute.ts";
import { type BranchEntry, type ComputeEntry, type FieldChange, isLeftForLater } from "../entries.ts";
import { refusesDeletion } from "../messages.ts";
import type { CommandScope } from "../scope.ts";
import type { TrackedCompute } from "../tracked.ts";
import { keeperOf } from "./left-to-operator.ts";
import { linkedEndpoint } from "./linked.ts";
import type { ComputeDryRun } from "./strategy.ts";
import { nextWindow, scheduleOf, whatWaits } from "./timing.ts";

/** `branch`: the entry of the Branch that it names, where that is planned too. */
export function computeEntryOf(
  { action, seen, adopted, warning }: ComputeDryRun,
  tracked: TrackedCompute,
  scope: CommandScope,
  branch?: BranchEntry,
): ComputeEntry {
  const { pruned } = tracked;
  // With the entry of its schedule in force.
  const { compute } = seen;
  const linked = linkedEndpoint(tracked, scope.fleet);
  const keptBy = linked === undefined || scope.cluster ? undefined : keeperOf(linked);
  const { projectID, type } = compute.spec;
  const what =
    pruned === undefined
      ? whatOfDeclared(action, compute, linked, branch)
      : whatOfPruned(action, compute, linked, pruned);
  return {
    compute: placeOf(compute.metadata),
    project: projectID,
    branch: branchIDOf(compute) || branchInWords(compute),
    type,
    ...(linked === undefined ? {} : { endpoint: linked.id }),
    ...(adopted ? { adopts: true as const } : {}),
    ...(keptBy === undefined ? {} : { keptBy }),
    ...what,
    ...deprecatedIn(what),
    ...scheduleOf(seen),
    ...leftToWindow(action, seen, scope),
    ...(warning === undefined ? {} : { message: warning }),
  };
}

/** Changes that wait for a window: alone, or beside what is sent. */
function leftToWindow(
  action: ComputeDryRun["action"],
  seen: ComputeDryRun["seen"],
  scope: CommandScope,
): Pick<ComputeEntry, "message" | "nextWindow"> {
  if ((action.kind !== "settled" && action.kind !== "patch") || (action.waiting ?? []).length === 0) return {};
  return { message: whatWaits(action, seen, scope), ...nextWindow(seen) };
}

/** A warning of what is sent and has an announced end at the public service. */
function deprecatedIn({ step, fields }: What): Pick<ComputeEntry, "deprecated"> {
  const sent = step === "create" || step === "patch" ? fields.filter(isDeprecated) : [];
  if (sent.length === 0) return {};
  const named = sent.map(({ field }) => (field === "branchID" ? "moving an endpoint (branchID)" : field)).join(", ");
  return { deprecated: `${named}: deprecated at the public service, which may not keep it` };
}

/** Reasons of Branches that wait for something else than their branch. */
const held = ["Paused", "Deleting"];

/** True if a Compute that shows the reason gets its endpoint once its Branch has a branch. */
export function followsBranch(reason: string | undefined): boolean {
  return reason === "BranchNotReady" || reason === "Expired";
}

/** A Compute whose Branch is not ready follows the Branch. */
function whatOfDeclared(
  action: ComputeDryRun["action"],
  compute: Compute,
  linked: Endpoint | undefined,
  branch: BranchEntry | undefined,
): What {
  const what = whatOf(action, compute, linked);
  if (!followsBranch(what.reason) || !["create", "wait", "reset"].includes(branch?.step ?? "")) return what;
  if (linked !== undefined || held.includes(branch?.reason ?? "")) return { ...what, step: "wait" };
  return { step: "create", fields: changes(compute, undefined) };
}

/** A Compute that leaves with its manifest: also one that only lets its endpoint go is a change. */
function whatOfPruned(
  action: ComputeDryRun["action"],
  compute: Compute,
  linked: Endpoint | undefined,
  why: string,
): What {
  if (compute.spec.deletionProtection === true) return { step: "refuse", fields: [], message: protectedFromDeletion };
  const isNever = linked === undefined && !hasFinalizer(compute);
  if (isNever) return { step: "release", fields: [], message: released.neverCreated };
  if (action.kind === "release") return { step: "release", fields: [], message: action.message };
  const what = whatOf(action, compute, linked);
  return action.kind === "delete" ? { ...what, message: why } : what;
}

const protectedFromDeletion = `No manifest declares the Compute any more, and ${refusesDeletion}`;

type What = Pick<ComputeEntry, "step" | "endpoint" | "fields" | "interrupts" | "reason" | "message">;

function whatOf(action: ComputeDryRun["action"], compute: Compute, linked: Endpoint | undefined): What {
  switch (action.kind) {
    case "create":
      return { step: "create", fields: changes(compute, undefined) };
    case "patch": {
      const sent = changes(compute, linked).filter(({ field }) => action.fields.includes(field));
      return { step: "patch", endpoint: action.endpointID, fields: sent, ...interruptionBy(sent, linked) };
    }
    case "sign":
      return { step: "patch", endpoint: action.endpointID, fields: [signatureChange(action, linked)] };
    case "restart":
      return {
        step: "restart",
        endpoint: action.endpointID,
        fields: [],
        ...(isRunning(linked) ? { interrupts: "cuts its connections" } : {}),
      };
    case "rotate": {
      const fields = [{ field: "connectionSecret.password", ours: `a new one for role ${action.role}` }];
      const interrupts = isRunning(linked) ? ({ interrupts: "cuts its connections" } as const) : {};
      return { step: "patch", endpoint: action.endpointID, fields, ...interrupts };
    }
    case "delete":
      return { step: "delete", endpoint: action.endpointID, fields: [], message: deletion(action) };
    case "wait": {
      const what = reasons[action.reason].planError ? "error" : "wait";
      const fields = linked === undefined ? [] : compared(compute, linked);
      return { step: what, fields, reason: action.reason, message: action.message };
    }
    case "blocked":
      return {
        step: reasons[action.reason].ready === "ended" ? "none" : "refuse",
        fields: [],
        reason: action.reason,
        message: action.message,
      };
    case "settled": {
      const drift = action.drift.map(({ field, ours, theirs }) => ({ field, ours, theirs }));
      if (isLeftForLater({ step: "wait", reason: action.reason })) {
        const waits = (action.waiting ?? []).map(({ field }) => field);
        const fields = changes(compute, linked).filter(({ field }) => waits.includes(field));
        return { step: "wait", fields, reason: action.reason, message: action.message };
      }
      const step = reasons[action.reason].stalled ? "refuse" : "none";
      return { step, fields: drift, reason: action.reason, message: action.message };
    }
    case "release":
      return { step: "none", fields: [], message: action.message };
    case "confirmDeletion":
    case "noop":
      return { step: "wait", ...(linked === undefined ? absence(compute) : opening(compute, linked)) };
  }
}

function isRunning(linked: Endpoint | undefined): boolean {
  return linked !== undefined && linked.current_state !== "idle";
}

/** A suspended compute has no connections, and only starts with its new size. */
function interruptionBy(sent: readonly FieldChange[], linked: Endpoint | undefined): Pick<ComputeEntry, "interrupts"> {
  if (!isRunning(linked)) return {};
  if (sent.some(({ field }) => field.startsWith("computeUnits."))) {
    return { interrupts: "restarts the compute, which cuts its connections" };
  }
  const isCut = sent.some(({ field, ours }) => field === "branchID" || (field === "disabled" && ours === "true"));
  return isCut ? { interrupts: "cuts its connections" } : {};
}

/** A former Compute's endpoint is not linked before its new name is listed. */
function signatureChange({ name }: Extract<Action, { kind: "sign" }>, linked: Endpoint | undefined): FieldChange {
  return { field: "name", ...(linked?.name === undefined ? {} : { theirs: linked.name }), ours: name };
}

function deletion({ why }: Extract<Action, { kind: "delete" }>): string {
  return why === "duplicate"
    ? "One create of this Compute took effect twice: one of the two endpoints is deleted."
    : "The Compute is being deleted in its cluster.";
}

/** Changes wait while a create or a takeover that this Compute records is open. */
function opening(compute: Compute, linked: Endpoint): Pick<ComputeEntry, "fields" | "reason" | "message"> {
  return {
    fields: compared(compute, linked),
    reason: shownReason(compute) ?? "Creating",
    message: "An earlier request for this Compute may still complete. Changes follow.",
  };
}

function absence(compute: Compute): Pick<ComputeEntry, "fields" | "reason" | "message"> {
  return {
    fields: [],
    reason: shownReason(compute) ?? "EndpointLost",
    message: "The linked endpoint is not listed. The operator makes sure that it is gone before it creates another.",
  };
}

function compared(compute: Compute, endpoint: Endpoint): FieldChange[] {
  return compare(desiredSpec(compute), endpoint).differences.map(({ field, ours, theirs }) => ({
    field,
    theirs,
    ours,
  }));
}

/** Each field that the user set and that differs at the service; all of them for a new endpoint. */
function changes(compute: Compute, endpoint: Endpoint | undefined): FieldChange[] {
  const { projectID, type } = compute.spec;
  const none = { id: "new", project_id: projectID, branch_id: branchIDOf(compute), type, current_state: "init" };
  const { notReturned } = compare(desiredSpec(compute), endpoint ?? none);
  const unseenFields = notReturned.map(({ field, ours }) => ({ field, ours }));
  return endpoint === undefined ? unseenFields : [...compared(compute, endpoint), ...unseenFields];
}
