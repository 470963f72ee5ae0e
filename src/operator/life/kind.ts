import type { ConditionRow } from "../conditions/rows.ts";
import { isBeingDeleted, type KubeObject } from "../objects/object.ts";
import type { ListerAccess } from "../project/service-access.ts";
import type { Due } from "./due.ts";
import type { Stop } from "./guard.ts";
import { onError, type Refusal } from "./on-error.ts";
import type { Outcome } from "./outcome.ts";
import type { PatchedKind } from "./patching.ts";

/** One reconcile of one version of an object. */
export interface Turn<Object, Memory, Given, Access = ListerAccess | undefined> {
  object: Object;
  memory: Memory;
  /** The kind's knowledge of the object before anything is asked of the service. */
  given: Given;
  /** The way to the service; `undefined` while the connection is not open, or for a kind without a service. */
  access: Access;
}

/** A kind's own in the life of an object that has something at the service, or elsewhere. */
export interface Kind<
  Object extends KubeObject,
  Seen,
  Action,
  Memory extends { requeue: Due },
  Reason extends string,
  Given,
  Done extends Outcome<Reason>,
  Access = ListerAccess | undefined,
> {
  patches: PatchedKind<Object>;
  /** The meaning of each reason for conditions, events and the next reconcile. */
  reasons: Readonly<Record<Reason, ConditionRow>>;
  /** Joins the object with what the service shows, and takes that into the memory. */
  observe: (turn: Turn<Object, Memory, Given, Access>) => Seen | Promise<Seen>;
  /** The next step; sends nothing. */
  plan: (seen: Seen, memory: Memory) => Action;
  /** The last guard: the stop of a write that lacks proof or claim. */
  guard: (action: Action, seen: Seen, memory: Memory) => Stop | undefined;
  /** The step in place of a write that the guard stopped, which is a defect. */
  insteadOf: (action: Action, stop: Stop, seen: Seen, memory: Memory) => Action;
  onStop: (stop: Stop, object: Object) => void;
  /** The step in place of one that only waits, once the definition of the kind goes. */
  letGo: (action: Action, seen: Seen, memory: Memory) => Action | undefined;
  /** Asks the API server whether the object is deleted only because its definition is. */
  uninstalling: (object: Object) => Promise<boolean>;
  /** Carries out the step: at most one write to the service. */
  execute: (action: Action, seen: Seen, turn: Turn<Object, Memory, Given, Access>) => Promise<Done>;
  /** The outcome of a step for which the API server refused a request. */
  refused: (refusal: Refusal, action: Action, turn: Turn<Object, Memory, Given, Access>) => Done;
  /** Reports the outcome: events, and one status patch at most. Returns what the next reconcile follows from. */
  status: (done: Done, seen: Seen, turn: Turn<Object, Memory, Given, Access>, action: Action) => Promise<Done>;
}

/** One reconcile: observe, plan, guard, execute, report. */
export async function step<
  Object extends KubeObject,
  Seen,
  Action,
  Memory extends { requeue: Due },
  Reason extends string,
  Given,
  Done extends Outcome<Reason>,
  Access,
>(
  kind: Kind<Object, Seen, Action, Memory, Reason, Given, Done, Access>,
  turn: Turn<Object, Memory, Given, Access>,
): Promise<{ done: Done; seen: Seen }> {
  const { object, memory } = turn;
  const seen = await kind.observe(turn);
  // Once the definition goes, an object that waits for its deletion is let go.
  const overruled = async (planned: Action): Promise<Action> => {
    const instead = isBeingDeleted(object) ? kind.letGo(planned, seen, memory) : undefined;
    return instead !== undefined && (await kind.uninstalling(object)) ? instead : planned;
  };
  let action = await overruled(kind.plan(seen, memory));
  const stop = kind.guard(action, seen, memory);
  if (stop !== undefined) {
    kind.onStop(stop, object);
    action = await overruled(kind.insteadOf(action, stop, seen, memory));
  }
  const executed = await kind
    .execute(action, seen, turn)
    .catch((error: unknown) =>
      onError(error, kind.patches.kind, object, { refused: (refusal) => kind.refused(refusal, action, turn) }),
    );
  const done = await kind.status(executed, seen, turn, action);
  return { done, seen };
}
