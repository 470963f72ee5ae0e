import type { EndpointLister } from "../project/endpoint-lister.ts";
import type { ConnectionUser } from "../resources/connection-user.ts";
import type { Reconciled } from "../runtime/workqueue.ts";
import { type Due, dueAfter } from "./due.ts";
import { type Connected, JoinedListers, type JoinedListersOptions } from "./joined-listers.ts";
import { type Kind, step, type Turn } from "./kind.ts";
import type { Outcome } from "./outcome.ts";
import { Reconciler, type ReconcilerOptions } from "./reconciler.ts";

export interface LifeOptions<
  Object extends ConnectionUser,
  Seen,
  Action,
  Memory extends { requeue: Due },
  Reason extends string,
  Given extends { connection: Connected },
  Done extends Outcome<Reason>,
> extends Omit<ReconcilerOptions<Object, Memory>, "kindOf">,
    JoinedListersOptions<Object> {
  kind: Kind<Object, Seen, Action, Memory, Reason, Given, Done>;
  /** The object as it counts now, where time changes what it declares. */
  asOf?: (object: Object) => Object;
  /** Gathers what is known before the service is asked; a number: the reconcile waits for so many milliseconds. */
  given: (object: Object, memory: Memory, now: number) => Given | number;
  /** Tells the lister of the project what the object is interested in. */
  use: (lister: EndpointLister, object: Object, given: Given) => void;
  /** A reconcile that fell due, or that a person requested, needs a list from after that. */
  begin: (turn: Turn<Object, Memory, Given>, now: number) => void;
  /** The latest time of the next reconcile, in monotonic milliseconds, whatever the reason. */
  latest: (seen: Seen, turn: Turn<Object, Memory, Given>, begunAt: number) => number;
}

/**
 * The life of the objects of one kind: gives each reconcile its version, memory and lister, takes the step, and says
 * when the next is due.
 */
export class Life<
  Object extends ConnectionUser,
  Seen,
  Action,
  Memory extends { requeue: Due },
  Reason extends string,
  Given extends { connection: Connected },
  Done extends Outcome<Reason>,
> {
  readonly #options: LifeOptions<Object, Seen, Action, Memory, Reason, Given, Done>;
  readonly #listers: JoinedListers<Object>;
  readonly memories: Reconciler<Object, Memory>;

  constructor(options: LifeOptions<Object, Seen, Action, Memory, Reason, Given, Done>) {
    this.#options = options;
    this.#listers = new JoinedListers(options);
    this.memories = new Reconciler({
      ...options,
      kindOf: () => options.kind.patches.kind,
      forgotten: (uid) => {
        this.leave(uid);
        options.forgotten?.(uid);
      },
    });
  }

  reconcile(uid: string): Promise<Reconciled> {
    return this.memories.reconcile(uid, (object, memory, now) => this.#reconcile(object, memory, now));
  }

  /** The object needs no lists any more. */
  leave(uid: string): void {
    this.#listers.leave(uid);
  }

  async #reconcile(stored: Object, memory: Memory, now: number): Promise<Reconciled> {
    const { kind, clock, asOf, given: gather, use, begin, latest } = this.#options;
    const object = asOf?.(stored) ?? stored;
    const given = gather(object, memory, now);
    if (typeof given === "number") return { requeueAfterMs: given };
    const access = this.#listers.join(object, given.connection, (lister) => use(lister, object, given));
    const turn = { object, memory, given, access };
    begin(turn, now);
    try {
      const { done, seen } = await step(kind, turn);
      return { requeueAfterMs: dueAfter(done, kind.reasons, memory, clock.monotonic(), latest(seen, turn, now)) };
    } finally {
      access?.gate.end();
    }
  }
}
