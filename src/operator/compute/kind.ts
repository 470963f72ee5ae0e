import type { ConnectionView } from "../connection/registry.ts";
import type { CrdDeletion } from "../connection-secret/removal.ts";
import type { EventInput } from "../kube/event-record.ts";
import type { Stop } from "../life/guard.ts";
import type { Kind, KindTypes, Turn } from "../life/kind.ts";
import { after } from "../life/outcome.ts";
import type { Patcher } from "../life/patching.ts";
import type { Compute } from "../resources/compute.ts";
import type { Clock } from "../runtime/clock.ts";
import { shortlyMs } from "../runtime/waits.ts";
import { type BindTools, type Bound, type bind, unbound } from "./bind.ts";
import type { execute } from "./execute/execute.ts";
import { computePatches } from "./execute/patch-metadata.ts";
import { type guard, insteadOf } from "./guard.ts";
import { momentThrough } from "./observe/moment.ts";
import type { Observed, Subject } from "./observe/observation.ts";
import type { observe } from "./observe/observe.ts";
import { type Outcome, shown } from "./outcome.ts";
import { type Action, noop, sendsSpec } from "./plan/action.ts";
import { letGo } from "./plan/delete.ts";
import type { plan } from "./plan/plan.ts";
import { isStillAllowed, type Later } from "./plan/still-allowed.ts";
import { isCutOver, turnOf } from "./plan/turn.ts";
import type { ReconcileState } from "./reconcile-state.ts";
import { fallsDueAt } from "./requeue.ts";
import { withUnreadable } from "./status/conditions.ts";
import { endpointAfter, type updateStatus } from "./update-status.ts";
import { released } from "./words/deletion.ts";
import { reasons } from "./words/reasons.ts";

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
  /** The last guard stopped a write. */
  onStop: (stop: Stop, compute: Compute) => void;
  /** A write that cuts the connections of a Compute is over: siblings that waited may have their turn. */
  onTurnOver?: (compute: Compute) => void;
  onStep?: (action: Action, compute: Compute, outcome: Outcome) => void;
}

/** A Compute and its connection, before anything is asked of the service. */
export interface Given {
  subject: Subject;
  connection: ConnectionView;
}

interface ComputeTypes extends KindTypes {
  object: Compute;
  seen: Observed;
  action: Action;
  memory: ReconcileState;
  given: Given;
  done: Outcome;
}

export type ComputeKind = Kind<ComputeTypes>;

/** A Compute's own in its life. */
export function computeKindOf(options: StepOptions): ComputeKind {
  const { parts, cluster, clock, signal, secrets, uninstalling, awaitsOwner } = options;
  return {
    patches: computePatches,
    reasons,
    observe: async ({ given: { subject, connection }, memory, access }) => {
      const observed = await parts.observe(subject, memory.known, connection, access);
      if (observed.kind === "observed") memory.listed(observed);
      return observed;
    },
    plan: (observed, { known }) => {
      const action = parts.plan(observed, known);
      // An owner undoes an edit of its Compute before it is sent. That change enqueues the Compute.
      return sendsSpec(action) && awaitsOwner(observed.compute) ? noop(shortlyMs) : action;
    },
    guard: (action, observed, { known }) => parts.guard(action, observed, known),
    insteadOf: (action, stop, observed, { known }) => insteadOf(action, stop, observed, known),
    onStop: options.onStop,
    letGo: (action, observed, { known }) =>
      action.kind === "wait" && action.reason !== "Deleting"
        ? letGo(released.uninstalling(undefined), observed, known)
        : undefined,
    uninstalling: (compute) => uninstalling.now(compute),
    execute: async (action, observed, { object: compute, memory: state, access, given: { connection } }) => {
      const { annotations } = observed;
      const stored = () => options.stored(compute.metadata.uid);
      const outcome = await parts.execute(action, {
        compute,
        annotations,
        cluster,
        clock,
        stored,
        hasTurn: turnOf(observed, state),
        isStillAllowed: () => isStillAllowed(action, observed, state.known, laterOf(compute, connection, clock)),
        state,
        signal,
        secrets,
        uninstalling,
        access,
      });
      // Patches answer with the spec as it is stored, and the plan was made for the one in force.
      return compute.spec.schedule === undefined
        ? outcome
        : { ...outcome, compute: { ...outcome.compute, spec: compute.spec } };
    },
    refused: ({ reason, message }, _, { object }) => shown(object, reason, message, { requeue: after(shortlyMs) }),
    status: (executed, observed, turn, action) => report(executed, observed, turn, action, options),
  };
}

function laterOf(compute: Compute, connection: ConnectionView, clock: Clock): Later {
  const serviceNow = connection.kind === "open" ? connection.session.time.now() : clock.now();
  return { now: clock.monotonic(), serviceNow, moment: momentThrough(compute, connection, serviceNow) };
}

/** Binds the connection Secret, then reports the outcome. */
async function report(
  executed: Outcome,
  observed: Observed,
  { memory: state, access }: Turn<ComputeTypes>,
  action: Action,
  options: StepOptions,
): Promise<Outcome> {
  const { parts } = options;
  const endpoint = endpointAfter(executed, observed);
  let bound: Bound;
  try {
    bound = await parts.bind(executed, endpoint, observed, { access, memory: state }, options);
  } catch (error) {
    bound = unbound(executed, error);
  }
  const outcome = withUnreadable(bound.outcome, endpoint, state, observed.moment?.unknownZones);
  const operations = access?.lister.operations;
  const id = endpoint?.id ?? "";
  state.expectResult(operations?.showsResultAt(id), operations?.followed.isBusyWith(id) === true);
  state.fallsDue(fallsDueAt(observed, state.known));
  const reported = await parts.updateStatus(outcome, observed, bound, { ...options, state });
  state.reported(reported.status, outcome.effect);
  if (isCutOver(observed, state.known, action)) {
    state.cuts(undefined);
    options.onTurnOver?.(reported);
  }
  options.onStep?.(action, reported, outcome);
  // The report comes first: the retry knows nothing of what was done.
  if (bound.failed !== undefined) throw bound.failed.error;
  return outcome;
}
