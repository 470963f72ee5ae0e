import type { Endpoint } from "../../api/endpoint.ts";
import { proofOf } from "../claims/ownership.ts";
import { type Comparison, compare, desiredSpec } from "../fields/compare.ts";
import type { EventInput } from "../kube/event-record.ts";
import { isStalling } from "../life/due.ts";
import type { Patcher } from "../life/patching.ts";
import { report } from "../life/report.ts";
import { generationOf, isBeingDeleted } from "../objects/object.ts";
import type { Compute, SecretStatus } from "../resources/compute.ts";
import { isObserved } from "../resources/management-policy.ts";
import type { Clock } from "../runtime/clock.ts";
import { shortlyMs } from "../runtime/waits.ts";
import { computePatches } from "./execute/patch-metadata.ts";
import { mayWait, withHeld } from "./held.ts";
import type { ReadonlyState } from "./memory.ts";
import { isOpen } from "./memory.ts";
import { annotationsOf } from "./observe/annotations.ts";
import { type Observation, type Observed } from "./observe/observation.ts";
import type { Outcome } from "./outcome.ts";
import { broughtTo } from "./plan/disruption.ts";
import type { ReconcileState } from "./reconcile-state.ts";
import { carriedBy } from "./record.ts";
import { noteClearsAt } from "./requeue.ts";
import { nextStatus } from "./status/status.ts";
import { reasons } from "./words/reasons.ts";

export interface StatusTools {
  cluster: Patcher<Compute>;
  clock: Clock;
  event: (compute: Compute, record: EventInput) => void;
  /** True if no status may wait, as while this process takes nothing more on. */
  isStopping: () => boolean;
  state: Pick<ReconcileState, "known" | "announced" | "hold" | "overtaken" | "wrote">;
}

/**
 * The only exit of a reconcile: one status patch if something changed, events on a transition. A status that only says
 * what is on the way may wait. `secret`: the connection Secret, and whether it could be checked. What the
 * annotations ask for since the reconcile began is left to the next one.
 */
export async function updateStatus(
  latest: Outcome,
  o: Observed,
  secret: { secret: SecretStatus | undefined; unchecked: boolean },
  { cluster, clock, event, state, isStopping }: StatusTools,
): Promise<Compute> {
  const { compute, events } = latest;
  const { known } = state;
  const now = clock.monotonic();
  for (const each of events) event(compute, each);
  if (events.some(({ type }) => type === "Normal")) state.announced(now);
  if (latest.condition.kind === "released") return compute;
  const outcome = withHeld(latest, known.held, o.kind === "observed");
  const endpoint = endpointAfter(outcome, o);
  const comparison = endpoint && compare(desiredSpec(compute), endpoint);
  const stalls =
    outcome.condition.kind === "shown" && isStalling(outcome.condition.reason, compute, known.requeue, now);
  const status = statusAfter(outcome, o, { endpoint, comparison, secret, known, stalls, now: clock.now() });
  const isHidden = comparison === undefined || comparison.notReturned.length > 0;
  const isNew = latest.effect.kind === "accepted";
  const waits =
    status !== undefined &&
    !isStopping() &&
    mayWait(outcome, status, isHidden) &&
    state.hold(outcome, { isNew, endpoint }, now);
  if (status === undefined) state.wrote();
  if (status === undefined || waits) return compute;
  if (latest.condition.kind === "shown") state.overtaken();
  // For a short time the event of a write says what its progress and its end would say.
  const { writeAt = Number.NEGATIVE_INFINITY } = known.told;
  const told = { reasons, isAnnounced: now - writeAt < shortlyMs };
  const reported = await report(computePatches, { cluster, event }, compute, status, outcome, told);
  state.wrote();
  return reported;
}

function statusAfter(
  outcome: Outcome,
  o: Observed,
  seen: {
    endpoint: Endpoint | undefined;
    comparison: Comparison | undefined;
    secret: { secret: SecretStatus | undefined; unchecked: boolean };
    known: ReadonlyState;
    stalls: boolean;
    now: number;
  },
): Compute["status"] | undefined {
  const { endpoint, comparison, secret, known, stalls, now } = seen;
  const annotations = annotationsOf(outcome.compute, now);
  const { reconcileRequestedAt, confirmLoss } = annotations;
  const list = o.kind === "observed" ? o : undefined;
  const showsBranch = endpoint !== undefined || outcome.compute.status.branchID !== undefined;
  const record = carriedBy(known.write, outcome.compute, showsBranch);
  return nextStatus(outcome, {
    annotations,
    endpoint,
    absent: list !== undefined && endpoint === undefined,
    branchGone: list?.missingFrom?.branch === "gone",
    answers: list !== undefined && !secret.unchecked && reconcileRequestedAt === o.annotations.reconcileRequestedAt,
    lossOver:
      list !== undefined &&
      !isOpen(known.write) &&
      (endpoint !== undefined || list.links.missing === undefined) &&
      confirmLoss === o.annotations.confirmLoss,
    compared: isAsDeclared(outcome, o, comparison),
    proof: endpoint === undefined ? "none" : proofOf(outcome.compute, endpoint),
    sent: known.write?.phase === "unsent" ? undefined : record?.operation,
    record,
    clearsDisabling: list !== undefined && clearsDisabling(list, known),
    operations: list?.operations ?? [],
    restarted: known.handled.restartedAt,
    referredName: o.referredName,
    fingerprint: list?.fingerprint,
    secret: secret.secret,
    moment: o.moment,
    broughtTo: list && broughtTo(list, known),
    stalls,
    now,
  });
}

function clearsDisabling(o: Observation, known: ReadonlyState): boolean {
  return o.laidOver !== true && o.startedAt >= noteClearsAt(o, known);
}

/** The endpoint as newest known after a reconcile. */
export function endpointAfter({ effect }: Outcome, o: Observed): Endpoint | undefined {
  if (effect.kind === "ownedByOther") return undefined;
  const answered = effect.kind === "accepted" ? effect.endpoint : undefined;
  return answered ?? (o.kind === "observed" ? o.links.link?.endpoint : undefined);
}

/** True if the service shows what the spec says; `undefined`: that was not seen. */
function isAsDeclared(
  { compute, effect }: Outcome,
  o: Observed,
  comparison: Comparison | undefined,
): boolean | undefined {
  if (o.kind !== "observed" || effect.kind === "ownedByOther") return undefined;
  // A field that the service does not return is no drift.
  if (isObserved(compute) && effect.kind === "settled") return effect.drift.length === 0;
  if (comparison === undefined || isBeingDeleted(compute)) return false;
  const { differences, notReturned, unreadable } = comparison;
  if (differences.length > 0) return false;
  if (unreadable.length > 0) return undefined;
  const sent = effect.kind === "accepted" ? effect.generation : (compute.status.appliedGeneration ?? -1);
  // Of a field that the service does not return, only what was sent is known.
  return sent >= generationOf(compute) || notReturned.length === 0 ? true : undefined;
}
