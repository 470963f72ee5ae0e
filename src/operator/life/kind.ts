import type { ConditionRow } from "../conditions/rows.ts";
import { isBeingDeleted, type KubeObject } from "../objects/object.ts";
import type { ListerAccess } from "../project/service-access.ts";
import type { Due } from "./due.ts";
import type { Stop } from "./guard.ts";
import { onError, type Refusal } from "./on-error.ts";
import type { Outcome } from "./outcome.ts";
import type { PatchedKind } from "./patching.ts";

/** The types that a kind's own is made of. */
export interface KindTypes {
  object: KubeObject;
  /** The object, joined with what the service shows. */
  seen: unknown;
  action: unknown;
  memory: { requeue: Due };
  /** The kind's knowledge of the object before anything is asked of the service. */
  given: unknown;
  done: Outcome<string>;
  /** The way to the service; `undefined` while the connection is not open, or for a kind without a service. */
  access: ListerAccess | undefined;
}

type ReasonOf<T extends KindTypes> = Extract<T["done"]["condition"], { kind: "shown" }>["reason"];

/** One reconcile of one version of an object. */
export type Turn<T extends KindTypes> = Pick<T, "object" | "memory" | "given" | "access">;

/** A kind's own in the life of an object that has something at the service, or elsewhere. */
export interface Kind<T extends KindTypes> {
  patches: PatchedKind<T["object"]>;
  /** The meaning of each reason for conditions, events and the next reconcile. */
  reasons: Readonly<Record<ReasonOf<T>, ConditionRow>>;
  /** Joins the object with what the service shows, and takes that into the memory. */
  observe: (turn: Turn<T>) => T["seen"] | Promise<T["seen"]>;
  /** The next step; sends nothing. */
  plan: (seen: T["seen"], memory: T["memory"]) => T["action"];
  /** The last guard: the stop of a write that lacks proof or claim. */
  guard: (action: T["action"], seen: T["seen"], memory: T["memory"]) => Stop | undefined;
  /** The step in place of a write that the guard stopped, which is a defect. */
  insteadOf: (action: T["action"], stop: Stop, seen: T["seen"], memory: T["memory"]) => T["action"];
  onStop: (stop: Stop, object: T["object"]) => void;
  /** The step in place of one that only waits, once the definition of the kind goes. */
  letGo: (action: T["action"], seen: T["seen"], memory: T["memory"]) => T["action"] | undefined;
  /** Asks the API server whether the object is deleted only because its definition is. */
  uninstalling: (object: T["object"]) => Promise<boolean>;
  /** Carries out the step: at most one write to the service. */
  execute: (action: T["action"], seen: T["seen"], turn: Turn<T>) => Promise<T["done"]>;
  /** The outcome of a step for which the API server refused a request. */
  refused: (refusal: Refusal, action: T["action"], turn: Turn<T>) => T["done"];
  /** Reports the outcome: events, and one status patch at most. Returns what the next reconcile follows from. */
  status: (done: T["done"], seen: T["seen"], turn: Turn<T>, action: T["action"]) => Promise<T["done"]>;
}

/** One reconcile: observe, plan, guard, execute, report. */
export async function step<T extends KindTypes>(
  kind: Kind<T>,
  turn: Turn<T>,
): Promise<{ done: T["done"]; seen: T["seen"] }> {
  const { object, memory } = turn;
  const seen = await kind.observe(turn);
  // Once the definition goes, an object that waits for its deletion is let go.
  const overruled = async (planned: T["action"]): Promise<T["action"]> => {
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
