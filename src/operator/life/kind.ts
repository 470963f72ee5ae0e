import type { ConditionRow } from "../conditions/rows.ts";
import { isBeingDeleted } from "../objects/object.ts";
import type { ListerAccess } from "../project/access.ts";
import type { ConnectionUser } from "../resources/connection-user.ts";
import type { Due } from "./due.ts";
import type { Stop } from "./guard.ts";
import type { Connected } from "./joined-listers.ts";
import { onError, type Refusal } from "./on-error.ts";
import type { Outcome } from "./outcome.ts";
import type { PatchedKind } from "./patching.ts";

/** One reconcile of one version of an object. */
export interface Turn<Object, Memory, Given> {
  object: Object;
  memory: Memory;
  /** The kind's knowledge of the object before anything is asked of the service. */
  given: Given;
  /** `undefined` while the connection is not open. */
  access: ListerAccess | undefined;
}

/** A kind's own in the life of an object that has something at the service. */
export interface Kind<
  Object extends ConnectionUser,
  Seen,
  Action,
  Memory extends { requeue: Due },
  Reason extends string,
  Given extends { connection: Connected },
  Done extends Outcome<Reason>,
> {
  patches: PatchedKind<Object>;
  /** The meaning of each reason for conditions, events and the next reconcile. */
  reasons: Readonly<Record<Reason, ConditionRow>>;
  /** Joins the object with what the service shows, and takes that into the memory. */
  observe: (turn: Turn<Object, Memory, Given>) => Seen | Promise<Seen>;
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
  execute: (action: Action, seen: Seen, turn: Turn<Object, Memory, Given>) => Promise<Done>;
  /** The outcome of a step for which the API server refused a request. */
  refused: (refusal: Refusal, action: Action, turn: Turn<Object, Memory, Given>) => Done;
  /** Reports the outcome: events, and one status patch at most. Returns what the next reconcile follows from. */
  status: (done: Done, seen: Seen, turn: Turn<Object, Memory, Given>, action: Action) => Promise<Done>;
}

/** One reconcile: observe, plan, guard, execute, report. */
export async function step<
  Object extends ConnectionUser,
  Seen,
  Action,
  Memory extends { requeue: Due },
  Reason extends string,
  Given extends { connection: Connected },
  Done extends Outcome<Reason>,
>(
  kind: Kind<Object, Seen, Action, Memory, Reason, Given, Done>,
  turn: Turn<Object, Memory, Given>,
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
