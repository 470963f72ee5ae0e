import { Rotation } from "../runtime/rotation.ts";

/**
 * The purpose of a request, the most urgent first.
 *
 * - `write`: a write, and the reads without which a deletion or a write cannot end.
 * - `resolve`: lists and polls that find out the outcome of a create or a deletion.
 * - `plan`: lists that a change of a Compute waits for.
 * - `read`: other reads of a reconcile, such as connection details.
 * - `follow`: lists and polls that follow what is in progress.
 * - `refresh`: lists of projects in which nothing is known to happen.
 */
export const priorities = ["write", "resolve", "plan", "read", "follow", "refresh"] as const;

export type Priority = (typeof priorities)[number];

/** One request in twenty goes to lower priorities while any wait: 5 %, so that none starves. */
const inARow = 19;

interface Waiter {
  ready: () => void;
  /** On the monotonic clock. */
  since: number;
}

/** The next in the queue, and since when they have waited. */
interface Called extends Waiter {
  who: unknown;
  priority: Priority;
}

interface Flow {
  waiting: Rotation<Waiter>;
  inARow: number;
}

/**
 * Those who wait for a request, by priority; within a priority tenants take turns, and those of a tenant are served in
 * order of arrival. Every call takes constant time.
 */
export class PriorityQueue {
  readonly #flows: Readonly<Record<Priority, Flow>>;
  readonly #places = new Map<unknown, Priority>();

  constructor() {
    const flow = (): Flow => ({ waiting: new Rotation(), inARow: 0 });
    this.#flows = { write: flow(), resolve: flow(), plan: flow(), read: flow(), follow: flow(), refresh: flow() };
  }

  get size(): number {
    return this.#places.size;
  }

  /** Adds `who` to the queue. One who waits already keeps the place, unless the new priority is higher. */
  join(who: unknown, priority: Priority, since: number, ready: () => void, tenant = ""): void {
    const before = this.#places.get(who);
    if (before !== undefined && priorities.indexOf(before) <= priorities.indexOf(priority)) return;
    const waitsSince = before === undefined ? since : (this.#flows[before].waiting.get(who)?.since ?? since);
    this.leave(who);
    this.#flows[priority].waiting.add(who, tenant, { ready, since: waitsSince });
    this.#places.set(who, priority);
  }

  /** Returns whether `who` waited. */
  leave(who: unknown): boolean {
    const priority = this.#places.get(who);
    if (priority === undefined) return false;
    this.#flows[priority].waiting.delete(who);
    return this.#places.delete(who);
  }

  /** Removes and returns the next; `isFull` says which priorities are closed for now. */
  next(isFull: (priority: Priority) => boolean): Called | undefined {
    const open = priorities.filter((priority) => this.#flows[priority].waiting.size > 0 && !isFull(priority));
    for (const [index, priority] of open.entries()) {
      const flow = this.#flows[priority];
      const othersWait = index < open.length - 1;
      if (othersWait && flow.inARow >= inARow) {
        flow.inARow = 0;
        continue;
      }
      flow.inARow = othersWait ? flow.inARow + 1 : 0;
      const next = flow.waiting.next();
      if (next === undefined) continue;
      this.#places.delete(next.key);
      return { who: next.key, priority, ...next.value };
    }
    return undefined;
  }

  /** About how many are served before `who`, including those who left in between. */
  before(who: unknown): number {
    const place = this.#places.get(who);
    if (place === undefined) return 0;
    const higher = priorities.slice(0, priorities.indexOf(place));
    return (
      this.#flows[place].waiting.before(who) +
      higher.reduce((sum, priority) => sum + this.#flows[priority].waiting.size, 0)
    );
  }

  /** The callbacks of all who wait. */
  all(): (() => void)[] {
    return priorities.flatMap((priority) => this.#flows[priority].waiting.values().map(({ ready }) => ready));
  }

  clear(): void {
    for (const who of this.#places.keys()) this.leave(who);
  }
}
