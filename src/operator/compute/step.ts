import type { ConnectionView } from "../connection/registry.ts";
import type { EventInput } from "../kube/event-record.ts";
import type { Stop } from "../life/guard.ts";
import type { Patcher } from "../life/patching.ts";
import { isBeingDeleted } from "../objects/object.ts";
import type { ListerAccess } from "../project/access.ts";
import type { Compute } from "../resources/compute.ts";
import type { Clock } from "../runtime/clock.ts";
import { shortlyMs } from "../runtime/waits.ts";
import { type BindTools, type Bound, type bind, unbound } from "./bind.ts";
import type { CrdDeletion } from "./execute/context.ts";
import { refusedPatch } from "./execute/deferred.ts";
import type { execute } from "./execute/execute.ts";
import { type guard, insteadOf } from "./guard.ts";
import type { Observed, Subject } from "./observe/observation.ts";
import type { observe } from "./observe/observe.ts";
import type { Outcome } from "./outcome.ts";
import { type Action, noop, sendsSpec } from "./plan/action.ts";
import { letGo } from "./plan/delete.ts";
import type { plan } from "./plan/plan.ts";
import { fallsDueAt } from "./requeue.ts";
import type { ReconcileState } from "./state.ts";
import { withUnreadable } from "./status/conditions.ts";
import { endpointAfter, type updateStatus } from "./update-status.ts";
import { released } from "./words/deletion.ts";

/** The parts of a step, in the order of their use. */
export interface Parts {
  observe: typeof observe;
  plan: typeof plan;
  guard: typeof guard;
  execute: typeof execute;
  bind: typeof bind;
  updateStatus: typeof updateStatus;
}

export interface StepOptions extends BindTools {
  parts: Parts;
  cluster: Patcher<Compute>;
  clock: Clock;
  signal: AbortSignal;
  /** The newest stored version of the Compute; `undefined`: it is gone. */
  stored: (uid: string) => Compute | undefined;
  /** Check for a Compute that is being deleted only because its definition is. */
  uninstalling: CrdDeletion;
  event: (compute: Compute, record: EventInput) => void;
  /** True if this process takes nothing more on. */
  isStopping: () => boolean;
  onStep?: (action: Action, compute: Compute, outcome: Outcome) => void;
  /** The last guard stopped a write. */
  onStop: (stop: Stop, compute: Compute) => void;
}

/** One reconcile of one version of a Compute: observe, plan, execute, bind its Secret, update the status. */
export type Step = (
  subject: Subject,
  state: ReconcileState,
  connection: ConnectionView,
  access: ListerAccess | undefined,
) => Promise<Outcome>;

export function stepOf(options: StepOptions): Step {
  const { parts, cluster, clock, signal, uninstalling } = options;
  return async (subject, state, connection, access) => {
    const { compute, annotations } = subject;
    const observed = await parts.observe(subject, state.known, connection, access);
    if (observed.kind === "observed") state.listed(observed);
    const planned = await overruled(parts.plan(observed, state.known), subject, state, options);
    const action = await guarded(planned, observed, state, options);
    const stored = () => options.stored(compute.metadata.uid);
    const context = { compute, annotations, cluster, clock, stored, state, signal, uninstalling, access };
    const executed = await parts.execute(action, context).catch((error: unknown) => refusedPatch(error, compute));
    const endpoint = endpointAfter(executed, observed);
    let bound: Bound;
    try {
      bound = await parts.bind(executed, endpoint, annotations, access, options);
    } catch (error) {
      bound = unbound(executed, error);
    }
    const outcome = withUnreadable(bound.outcome, endpoint, state);
    const operations = access?.lister.operations;
    const id = endpoint?.id ?? "";
    state.expectResult(operations?.showsResultAt(id), operations?.followed.isBusyWith(id) === true);
    state.fallsDue(fallsDueAt(observed, state.known));
    const reported = await parts.updateStatus(outcome, observed, bound, { ...options, state });
    state.reported(reported.status);
    options.onStep?.(action, reported, outcome);
    // The report comes first: the retry knows nothing of what was done.
    if (bound.failed !== undefined) throw bound.failed.error;
    return outcome;
  };
}

/** An owner undoes an edit of its Compute before it is sent; once the CRD itself goes, every Compute is let go. */
async function overruled(
  action: Action,
  subject: Subject,
  { known }: ReconcileState,
  { awaitsOwner, uninstalling }: StepOptions,
): Promise<Action> {
  const { compute } = subject;
  // The change that its owner is about to make enqueues it.
  if (sendsSpec(action) && awaitsOwner(compute)) return noop(shortlyMs);
  if (action.kind !== "wait" || action.reason === "Deleting" || !isBeingDeleted(compute)) return action;
  return (await uninstalling.now(compute)) ? letGo(released.uninstalling(undefined), subject, known) : action;
}

/** The action that is carried out. A write that the last guard stops is a defect: counted, and shown in its place. */
async function guarded(action: Action, o: Observed, state: ReconcileState, options: StepOptions): Promise<Action> {
  const stop = options.parts.guard(action, o, state.known);
  if (stop === undefined) return action;
  options.onStop(stop, o.compute);
  return overruled(insteadOf(action, stop, o, state.known), o, state, options);
}
