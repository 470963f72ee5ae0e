import { execute } from "../../../operator/compute/execute/execute.ts";
import { recordFailedWrite } from "../../../operator/compute/execute/unsent.ts";
import { guard, insteadOf } from "../../../operator/compute/guard.ts";
import type { Observed } from "../../../operator/compute/observe/observation.ts";
import type { Outcome } from "../../../operator/compute/outcome.ts";
import type { Action } from "../../../operator/compute/plan/action.ts";
import { plan } from "../../../operator/compute/plan/plan.ts";
import { turnOf } from "../../../operator/compute/plan/turn.ts";
import { updateStatus } from "../../../operator/compute/update-status.ts";
import { requests } from "../../../operator/compute/words/failures.ts";
import { shownReason } from "../../../operator/objects/conditions-of.ts";
import { isDerivedUID } from "../../manifests/derived-uid.ts";
import { accessTo, uninterrupted } from "../direct-access.ts";
import { InMemoryPatcher } from "../in-memory-patcher.ts";
import type { Inventory } from "../inventory.ts";
import type { CommandScope } from "../scope.ts";
import type { DryRun, Planned, Strategy } from "../strategy.ts";
import type { TrackedCompute } from "../tracked.ts";
import { leftToOperator } from "./left-to-operator.ts";
import { onUnknownBranch } from "./named-branch.ts";
import { observe } from "./observe.ts";

/** Actions that change only the Compute. */
type InMemory = Extract<Action, { kind: "link" | "resolve" | "restoreFinalizer" | "dropFinalizer" | "restarted" }>;

/**
 * Actions after which the Compute is planned again. `settled`: only where the endpoint is signed next. `noop`: only
 * where the operator would list again to see that nobody is connected, and a command has just listed.
 */
type Step = InMemory | Extract<Action, { kind: "settled" | "noop" }>;
type End = Exclude<Action, InMemory>;

export type ComputeDryRun = DryRun<Observed, End>;

export const computeStrategy: Strategy<TrackedCompute, Observed, Step, End, Outcome> = {
  observe,
  plan: planCompute,
  carryOut,
};

/** No command writes Secrets. */
const secrets = {
  recordedNow: () => Promise.resolve(undefined),
  noteReset: async () => {},
  readSoon: () => {},
  remove: () => Promise.resolve([]),
};
/** Without a cluster no CRD is deleted. */
const uninstalling = { now: () => Promise.resolve(false), lately: () => Promise.resolve(false) };

async function carryOut(
  action: Action,
  seen: Observed,
  tracked: TrackedCompute,
  inventory: Inventory,
): Promise<Outcome> {
  const { memory: state, project } = tracked;
  const { clock } = inventory.options;
  const { compute, annotations } = seen;
  const cluster = new InMemoryPatcher(compute);
  const access = accessTo(project, clock);
  const stored = () => undefined;
  const hasTurn = turnOf(seen, state);
  const shared = { clock, stored, state, signal: uninterrupted, uninstalling, secrets };
  const context = { compute, annotations, hasTurn, cluster, access, ...shared };
  const outcome = await execute(guarded(action, seen, tracked), context);
  const { signed } = state.known;
  if (action.kind === "sign" && signed?.failure !== undefined) {
    // The operator tries again in ten minutes; a command has the back-off of any other write.
    recordFailedWrite(action, signed.failure, requests.sign(action.endpointID), compute, context, access);
    state.signed({ ...signed, renewAt: 0 });
  }
  const secret = { secret: undefined, unchecked: false };
  const written = { cluster, clock, state, event: () => {}, isStopping: () => true };
  const after = await updateStatus(outcome, seen, secret, written);
  state.reported(after.status, outcome.effect);
  // The plan was made for the spec in force, and the object keeps the declared one.
  inventory.update(tracked, { ...after, spec: tracked.object.spec });
  return outcome;
}

/** The action that is carried out: what the operator's last guard stops is not sent, and `plan` shows why. */
function guarded(action: Action, seen: Observed, { memory: { known } }: TrackedCompute): Action {
  const stop = guard(action, seen, known);
  return stop === undefined ? action : insteadOf(action, stop, seen, known);
}

/** Resolves the name of the branch before anything is planned: a claim to a primary counts once it has an id. */
export async function resolveName(tracked: TrackedCompute, inventory: Inventory): Promise<void> {
  const seen = observe(tracked, inventory);
  const action = plan(seen, tracked.memory.known);
  if (action.kind === "resolve") await carryOut(action, seen, tracked, inventory);
}

function planCompute(seen: Observed, tracked: TrackedCompute, { scope }: Inventory): Planned<Step, End> {
  const { known } = tracked.memory;
  const first = plan(seen, known);
  // The operator records this warning as an event, then creates; here the line of the create shows it.
  const warnsOf = first.kind === "wait" ? first.warnsOf : undefined;
  const planned = warnsOf === undefined ? first : plan(seen, { ...known, told: { formers: warnsOf } });
  const action = guarded(planned, seen, tracked);
  if (isInMemory(action)) {
    return { kind: "step", action, isAdoption: action.kind === "link" && action.news === "adopted" };
  }
  if (action.kind === "settled" && isToBeSigned(action, tracked, scope)) {
    return { kind: "step", action, isAdoption: false };
  }
  if (action.kind === "noop" && action.asksWhetherIdle !== undefined) {
    return { kind: "step", action, isAdoption: false };
  }
  const end = onUnknownBranch(action, seen, tracked.project) ?? leftToOperator(action, seen, scope);
  const warning = first.kind === "wait" && end.kind === "create" ? { warning: first.message } : {};
  return { kind: "end", action: end, isShown: false, ...warning };
}

/**
 * True for an endpoint that apply made before it was given the fleet: it is signed once the status shows it at rest.
 */
function isToBeSigned(
  { reason }: Extract<Action, { kind: "settled" }>,
  { object, memory }: TrackedCompute,
  { fleet }: CommandScope,
): boolean {
  if (fleet === undefined || !isDerivedUID(object.metadata.uid)) return false;
  return shownReason(object) !== reason && memory.known.signed === undefined;
}

function isInMemory(action: Action): action is InMemory {
  return (
    action.kind === "link" ||
    action.kind === "resolve" ||
    action.kind === "restoreFinalizer" ||
    action.kind === "dropFinalizer" ||
    action.kind === "restarted"
  );
}
