import type { Endpoint } from "../../../api/endpoint.ts";
import { isInProgress, type Operation } from "../../../api/operation.ts";
import { poolerHost } from "../../../api/pooler-host.ts";
import { linkWithout, type Proof } from "../../claims/ownership.ts";
import { rangeOf } from "../../fields/declared.ts";
import { conditionOf } from "../../objects/conditions-of.ts";
import { policyInForce } from "../../objects/deletion-policy.ts";
import { generationOf } from "../../objects/object.ts";
import { sameJSON } from "../../objects/record.ts";
import {
  type Compute,
  type ComputeStatus,
  givenName,
  type SecretStatus,
  type StatusOperation,
  type StatusProof,
} from "../../resources/compute.ts";
import { nothingShown, unsupported } from "../../resources/compute-status.ts";
import { clusterConnectionOf } from "../../resources/connection-user.ts";
import { isObserved } from "../../resources/management-policy.ts";
import { type Outcome, operationsIn } from "../outcome.ts";
import { conditionsOf, isProgress, type Reason, reasons } from "../words/reasons.ts";
import { capacityOf, sizeInWords } from "./capacity.ts";
import { printedColumns } from "./printed-columns.ts";
import { isUnmade, stateSeen, stateUnseen } from "./printed-state.ts";
import { brought, left, timed } from "./schedule.ts";
import type { Seen } from "./seen.ts";

/** Shortest time between two writes of `lastActive` alone, in milliseconds. */
const lastActiveEveryMs = 15 * 60_000;

/** Number of operations that a status holds. */
const mostOperations = 10;

/** The status after a reconcile; `undefined` where it is as it was, but for a time that is not worth a write. */
export function nextStatus(outcome: Outcome, seen: Seen): ComputeStatus | undefined {
  const { compute } = outcome;
  const before = compute.status;
  const conclusions = concluded(compute, outcome, seen);
  const shown = {
    ...before,
    ...observed(before, outcome, seen),
    ...resolution(outcome, seen),
    ...brought(compute, seen),
    ...conclusions,
    ...requests(compute, outcome, seen),
    ...goneAfter(compute, outcome, seen),
    ...timed(outcome, seen, "waiting" in conclusions ? conclusions.waiting : before.waiting),
    pendingWrite: seen.record,
    managementPolicy: isObserved(compute) ? "Observe" : undefined,
    deletionPolicy: deletionPolicyAfter(outcome, seen),
    ...bindingOf(compute, seen.secret),
  };
  const after = isNews(outcome, seen) ? { ...shown, ...printedColumns(compute, shown, seen) } : shown;
  const operations = withTimesOf(before.operations, after.operations);
  // A closed record is no reason for a write while something is on its way, and the record of a request that was never
  // sent is none either: a definition that drops the record would be sent it for ever.
  const isUnderWay = isProgress(conditionOf(after, "Ready")?.reason);
  // Nor does a status drop it that names no endpoint: after `kubectl replace` nothing else would know of the create.
  if (isUnderWay && after.endpointID === undefined) after.pendingWrite ??= before.pendingWrite;
  const isUnsent = seen.record !== undefined && seen.sent === undefined;
  const pendingWrite = isUnsent || (isUnderWay && seen.record === undefined) ? before.pendingWrite : seen.record;
  const isSame = sameJSON({ ...after, lastActive: before.lastActive, operations, pendingWrite }, before);
  return isSame && !isDue(before.lastActive, after.lastActive) ? undefined : compacted(after);
}

/** An application looks for its binding in its own namespace alone. */
function bindingOf({ metadata }: Compute, secret: SecretStatus | undefined): ComputeStatus {
  const isHere = secret !== undefined && secret.namespace === metadata.namespace;
  return { binding: isHere ? { name: secret.name } : undefined, connectionSecret: secret };
}

function deletionPolicyAfter({ compute, effect }: Outcome, { endpoint, proof }: Seen): string | undefined {
  if (isObserved(compute)) return "Retain";
  // The proof of an endpoint that is another's says nothing.
  return effect.kind === "ownedByOther" ? policyInForce(compute) : policyInForce(compute, endpoint && proof);
}

/** True for an endpoint of our own that is gone: its members stay until there is another. */
function isLostOwn({ endpointID, gone }: ComputeStatus, { effect }: Outcome): boolean {
  return effect.kind === "gone" || (effect.kind !== "ownedByOther" && endpointID !== undefined && endpointID === gone);
}

/** The endpoint that is proved gone; a list that shows it again outranks the proof. */
function goneAfter(
  compute: Compute,
  { effect }: Outcome,
  { endpoint }: Seen,
): Pick<ComputeStatus, "gone" | "endpointID"> {
  if (effect.kind === "gone") return linkWithout(effect.endpointID, compute);
  const { gone } = compute.status;
  return { gone: gone !== undefined && endpoint?.id === gone ? undefined : gone };
}

function isDue(before: string | undefined, after: string | undefined): boolean {
  if (before === undefined || after === undefined) return before !== after;
  return Math.abs(Date.parse(after) - Date.parse(before)) >= lastActiveEveryMs;
}

/** The operations, with the times as before of those that have not changed otherwise. */
function withTimesOf(
  before: readonly StatusOperation[] = [],
  after?: StatusOperation[],
): StatusOperation[] | undefined {
  return after?.map((operation) => {
    const old = before.find(({ id }) => id === operation.id);
    return old !== undefined && sameJSON({ ...operation, updatedAt: old.updatedAt }, old) ? old : operation;
  });
}

/** True for an observed Compute that is linked to nothing, and whose `spec.adopt` names nothing either. */
function isRefusedTarget({ compute, condition }: Outcome, { annotations, absent }: Seen): boolean {
  const isRefused = condition.kind === "shown" && condition.reason === "AdoptionRefused";
  return isObserved(compute) && isRefused && absent && annotations.recordedID === undefined;
}

function isNews({ condition }: Outcome, { endpoint, absent }: Seen): boolean {
  return condition.kind === "shown" || endpoint !== undefined || absent;
}

/** Members that show the endpoint as the service does. */
function observed(before: ComputeStatus, outcome: Outcome, seen: Seen): ComputeStatus {
  const { endpoint, absent } = seen;
  const declared = outcome.compute.spec.computeUnits;
  if (endpoint === undefined) {
    if (!isNews(outcome, seen)) return {};
    const size = declared === undefined ? undefined : sizeInWords(declared);
    return {
      ...(outcome.effect.kind === "ownedByOther" || isRefusedTarget(outcome, seen) ? nothingShown : {}),
      state: stateUnseen(outcome, seen),
      ...(absent ? { currentState: undefined, pendingState: undefined } : {}),
      size: isUnmade(outcome, seen) && !isLostOwn(before, outcome) ? size : (before.size ?? size),
    };
  }
  const range = rangeOf(endpoint);
  const size = range ?? declared;
  return {
    state: stateSeen(endpoint, outcome),
    endpointID: endpoint.id,
    host: endpoint.host,
    poolerHost: poolerHost(endpoint),
    regionID: endpoint.region_id,
    currentState: endpoint.current_state,
    pendingState: endpoint.pending_state,
    type: endpoint.type,
    branchID: endpoint.branch_id,
    computeUnits: range,
    disabled: endpoint.disabled,
    disabledByUs: disabledByUs(endpoint, outcome, seen),
    lastActive: endpoint.last_active,
    createdAt: endpoint.created_at,
    size: size === undefined ? undefined : sizeInWords(size),
    capacity: range === undefined ? undefined : capacityOf(range),
    operations: operationsAfter(before, outcome, seen, endpoint.id),
    ...(isNoted(outcome.compute, seen) ? { proof: proofOf(outcome.compute, seen.proof, endpoint.id) } : {}),
    observedThrough: seen.fingerprint ?? before.observedThrough,
    clusterConnection: clusterConnectionOf(outcome.compute),
  };
}

/**
 * True if the status says that this operator disabled the endpoint: noted before the request is sent, so that a lost
 * reply or a crash loses nothing. A lost status is restored if the endpoint was made for this Compute and the spec asks
 * for disabled; one that was found disabled is somebody else's decision. A status without a proof is that of a
 * restored Compute, whose endpoint came to bear our signature later.
 */
function disabledByUs(endpoint: Endpoint, { compute }: Outcome, seen: Seen): true | undefined {
  const { spec, status } = compute;
  if (status.disabledByUs === true) return seen.clearsDisabling && endpoint.disabled === false ? undefined : true;
  const isFirstSeen = status.endpointID !== endpoint.id || status.proof === undefined;
  const isMade = seen.proof === "signature" || seen.proof === "created";
  return isFirstSeen && isMade && spec.disabled === true && endpoint.disabled === true ? true : undefined;
}

/** An endpoint that is only observed was not adopted. */
function isNoted(compute: Compute, { proof }: Seen): boolean {
  return proof !== "none" && !(isObserved(compute) && proof === "adopted");
}

function proofOf({ metadata }: Compute, by: Proof, endpointID: string): StatusProof {
  return { uid: metadata.uid, endpointID, by };
}

/** Result of `spec.branchName` or `spec.branchRef`. Without an endpoint to show, the branch shown is that one. */
function resolution({ compute, effect }: Outcome, { annotations, endpoint }: Seen): ComputeStatus {
  const given = givenName(compute.spec);
  if (given === undefined) return { resolvedBranch: undefined };
  const latest = effect.kind === "resolved" ? effect.branch : compute.status.resolvedBranch;
  const resolvedBranch = latest?.name === given ? latest : undefined;
  const hasNone = endpoint === undefined && annotations.recordedID === undefined;
  return { resolvedBranch, ...(hasNone ? { branchID: resolvedBranch?.id } : {}) };
}

/** Members concluded from the outcome: conditions, generations, drift. */
function concluded(compute: Compute, outcome: Outcome, seen: Seen): ComputeStatus {
  const { condition, effect } = outcome;
  if (condition.kind !== "shown") return {};
  const generation = generationOf(compute);
  return {
    ...(condition.reason === "Paused" ? {} : { observedGeneration: generation }),
    conditions: conditionsOf(compute, condition.reason, condition.message, seen),
    ...(effect.kind === "accepted" ? { appliedGeneration: effect.generation } : {}),
    ...(effect.kind === "settled" && !isObserved(compute) ? { appliedGeneration: generation } : {}),
    lossDoubted: isLossDoubted(compute, condition.reason, seen) ? true : undefined,
    ...left(compute, effect, seen),
    ...driftAfter(outcome, seen),
  };
}

function driftAfter(outcome: Outcome, seen: Seen): Pick<ComputeStatus, "drift"> {
  const { effect } = outcome;
  if ("drift" in effect && effect.drift !== undefined) return { drift: nonEmpty(effect.drift) };
  return isRefusedTarget(outcome, seen) ? { drift: undefined } : {};
}

/**
 * Once reported, a loss stays in doubt until a list shows the endpoint, or a person confirms it.
 */
function isLossDoubted({ status }: Compute, reason: Reason, { annotations, endpoint, absent }: Seen): boolean {
  if (reason === "MassLoss" || (endpoint === undefined && annotations.lossConfirmed)) return true;
  const settled = endpoint !== undefined || (absent && reason !== "Paused");
  return status.lossDoubted === true && !settled;
}

/** The annotations that ask for something once: which values are done. */
function requests(compute: Compute, { effect, condition }: Outcome, seen: Seen): ComputeStatus {
  const { restartedAt, reconcileRequestedAt, reconcileRequested, lossConsent } = seen.annotations;
  const first =
    (compute.status.observedGeneration ?? -1) < 0 && condition.kind === "shown" && condition.reason !== "Paused";
  const isOnlyShown = isObserved(compute) && condition.kind === "shown" && condition.reason !== "Paused";
  const isLost = condition.kind === "shown" && condition.reason === "MassLoss";
  const answered = reconcileRequested && (seen.answers || isLost);
  // A value from before the loss was shown does not confirm it, and one that has served confirms no other loss.
  const served = lossConsent !== undefined && (seen.lossOver || isLost);
  return {
    // A restart requested before the first reconcile counts as done, and of what is only observed each.
    ...(first || isOnlyShown ? { restartedAt } : {}),
    // Also where the status that said so was not written, and a later one is.
    ...(restartedAt !== undefined && seen.restarted === restartedAt ? { restartedAt } : {}),
    ...(effect.kind === "restarted" ? { restartedAt: effect.value } : {}),
    ...(answered ? { lastHandledReconcileAt: reconcileRequestedAt } : {}),
    ...(served ? { lastHandledConfirmLoss: lossConsent } : {}),
  };
}

function operationsAfter(
  before: ComputeStatus,
  outcome: Outcome,
  seen: Seen,
  id: string,
): StatusOperation[] | undefined {
  const known = new Map<string, StatusOperation>();
  const recorded = before.endpointID === id ? (before.operations ?? []) : [];
  const show = (operations: readonly Operation[]) => {
    for (const operation of operations) known.set(operation.id, statusOperation(operation, known.get(operation.id)));
  };
  for (const operation of recorded) known.set(operation.id, operation);
  show(operationsIn(outcome));
  if (isAtRest(outcome)) for (const [key, operation] of known) known.set(key, ended(operation));
  show(seen.operations);
  const newestFirst = [...known.values()].toSorted(
    (a, b) => (b.createdAt ?? "").localeCompare(a.createdAt ?? "") || a.id.localeCompare(b.id),
  );
  return nonEmpty(newestFirst.slice(0, mostOperations));
}

/** True if nothing is in progress: an operation that was last seen running has ended unseen. */
function isAtRest({ condition }: Outcome): boolean {
  return condition.kind === "shown" && reasons[condition.reason].ready === "True";
}

function ended(operation: StatusOperation): StatusOperation {
  return isInProgress(operation) ? { ...operation, status: unsupported } : operation;
}

/** An operation of the status. Members that the service no longer shows stay as they were. */
function statusOperation(operation: Operation, known: StatusOperation | undefined): StatusOperation {
  const { id, action, status, failures_count, created_at, updated_at } = operation;
  return {
    id,
    action,
    status,
    failuresCount: failures_count ?? known?.failuresCount,
    createdAt: created_at ?? known?.createdAt,
    updatedAt: updated_at ?? known?.updatedAt,
  };
}

function nonEmpty<T>(items: readonly T[]): T[] | undefined {
  return items.length === 0 ? undefined : [...items];
}

/** Without members that are undefined. */
function compacted<T extends object>(value: T): T {
  const copy = { ...value };
  for (const [name, member] of Object.entries(copy)) if (member === undefined) Reflect.deleteProperty(copy, name);
  return copy;
}
