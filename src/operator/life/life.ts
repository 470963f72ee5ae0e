import type { EndpointLister } from "../project/endpoint-lister.ts";
import type { ConnectionUser } from "../resources/connection-user.ts";
import type { Reconciled } from "../runtime/workqueue.ts";
import { dueAfter } from "./due.ts";
import { type Connected, JoinedListers, type JoinedListersOptions } from "./joined-listers.ts";
import { type Kind, type KindTypes, step, type Turn } from "./kind.ts";
import { Reconciler, type ReconcilerOptions } from "./reconciler.ts";

/** The types of a kind whose objects use a connection. */
interface LifeTypes extends KindTypes {
  object: ConnectionUser;
  given: { connection: Connected };
}

export interface LifeOptions<T extends LifeTypes>
  extends Omit<ReconcilerOptions<T["object"], T["memory"]>, "kindOf">,
    JoinedListersOptions<T["object"]> {
  kind: Kind<T>;
  /** The object as it counts now, where time changes what it declares. */
  asOf?: (object: T["object"]) => T["object"];
  /** Gathers what is known before the service is asked; a number: the reconcile waits for so many milliseconds. */
  given: (object: T["object"], memory: T["memory"], now: number) => T["given"] | number;
  /** Tells the lister of the project what the object is interested in. */
  use: (lister: EndpointLister, object: T["object"], given: T["given"]) => void;
  /** A reconcile that fell due, or that a person requested, needs a list from after that. */
  begin: (turn: Turn<T>, now: number) => void;
  /** The latest time of the next reconcile, in monotonic milliseconds, whatever the reason. */
  latest: (seen: T["seen"], turn: Turn<T>, begunAt: number) => number;
}

/**
 * The life of the objects of one kind: gives each reconcile its version, memory and lister, takes the step, and says
 * when the next is due.
 */
export class Life<T extends LifeTypes> {
  readonly #options: LifeOptions<T>;
  readonly #listers: JoinedListers<T["object"]>;
  readonly memories: Reconciler<T["object"], T["memory"]>;

  constructor(options: LifeOptions<T>) {
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

  async #reconcile(stored: T["object"], memory: T["memory"], now: number): Promise<Reconciled> {
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
