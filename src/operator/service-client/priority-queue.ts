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

/** One request in twenty of a tenant goes to its lower priorities while any wait: 5 %, so that none starves. */
const inARow = 19;

interface Waiter {
  ready: () => void;
  /** On the monotonic clock. */
  since: number;
  /** Whether it would come if it were called now. */
  mayCome: () => boolean;
}

/** The next in the queue, and since when they have waited. */
interface Called extends Waiter {
  who: unknown;
  priority: Priority;
  tenant: string;
}

/** Those of one tenant with one priority, in order of arrival. */
interface Flow {
  waiting: Map<unknown, Waiter & { ticket: number }>;
  /** Counts those who joined: what was served since tells how many stand before. */
  joined: number;
  served: number;
  inARow: number;
}

interface Tenant {
  flows: Map<Priority, Flow>;
  size: number;
}

/**
 * Those who wait for a request: tenants take turns, whatever the priorities of each; within a tenant the priority
 * decides, then the order of arrival. Each call takes constant time, but for tenants whose callers cannot come.
 */
export class PriorityQueue {
  /** The first is next. */
  readonly #tenants = new Map<string, Tenant>();
  readonly #places = new Map<unknown, { tenant: string; priority: Priority }>();

  get size(): number {
    return this.#places.size;
  }

  /** The tenants that wait. */
  get tenants(): Iterable<string> {
    return this.#tenants.keys();
  }

  /** Adds `who` to the queue. One who waits already keeps the place, unless the new priority is higher. */
  join(who: unknown, priority: Priority, waiter: Waiter, tenant = ""): void {
    const before = this.#places.get(who);
    if (before !== undefined && priorities.indexOf(before.priority) <= priorities.indexOf(priority)) return;
    const earlier = before && this.#tenants.get(before.tenant)?.flows.get(before.priority)?.waiting.get(who);
    this.leave(who);
    const all = this.#tenants.get(tenant) ?? { flows: new Map(), size: 0 };
    const flow = all.flows.get(priority) ?? { waiting: new Map(), joined: 0, served: 0, inARow: 0 };
    flow.waiting.set(who, { ...waiter, since: earlier?.since ?? waiter.since, ticket: flow.joined++ });
    all.flows.set(priority, flow);
    all.size += 1;
    this.#tenants.set(tenant, all);
    this.#places.set(who, { tenant, priority });
  }

  /** Returns whether `who` waited. */
  leave(who: unknown): boolean {
    const place = this.#places.get(who);
    const tenant = place && this.#tenants.get(place.tenant);
    if (place === undefined || tenant === undefined) return false;
    tenant.flows.get(place.priority)?.waiting.delete(who);
    tenant.size -= 1;
    if (tenant.size === 0) this.#tenants.delete(place.tenant);
    return this.#places.delete(who);
  }

  /**
   * Removes and returns the next. `isFull` says which priorities of a tenant are closed for now; `here` asks right now,
   * so it goes before those of its tenant and priority that cannot come.
   */
  next(isFull: (tenant: string, priority: Priority) => boolean, here?: unknown): Called | undefined {
    for (const [name, tenant] of this.#tenants) {
      const next = nextOf(tenant, (priority) => isFull(name, priority), here);
      if (next === undefined) continue;
      const { flow, priority, who, waiter } = next;
      flow.served = Math.max(flow.served, waiter.ticket + 1);
      this.leave(who);
      // It waits for the other tenants now.
      if (this.#tenants.delete(name)) this.#tenants.set(name, tenant);
      return { who, priority, tenant: name, ...waiter };
    }
    return undefined;
  }

  /** About how many are served before `who`, including those who left in between. */
  before(who: unknown): number {
    const place = this.#places.get(who);
    const flows = place && this.#tenants.get(place.tenant)?.flows;
    const flow = place && flows?.get(place.priority);
    if (place === undefined || flow === undefined) return 0;
    const higher = priorities.slice(0, priorities.indexOf(place.priority));
    const ahead = higher.reduce((sum, priority) => sum + (flows?.get(priority)?.waiting.size ?? 0), 0);
    const inFlow = Math.max(0, (flow.waiting.get(who)?.ticket ?? 0) - flow.served);
    return Math.min(this.size - 1, (inFlow + ahead) * this.#tenants.size);
  }

  /** The callbacks of all who wait. */
  all(): (() => void)[] {
    const flows = [...this.#tenants.values()].flatMap((tenant) => [...tenant.flows.values()]);
    return flows.flatMap(({ waiting }) => [...waiting.values()].map(({ ready }) => ready));
  }

  clear(): void {
    this.#tenants.clear();
    this.#places.clear();
  }
}

/** Who of a tenant is next, if one of its own can come. */
function nextOf({ flows }: Tenant, isFull: (priority: Priority) => boolean, here: unknown) {
  const open = priorities.flatMap((priority) => {
    const flow = flows.get(priority);
    const first = flow === undefined || isFull(priority) ? undefined : firstOf(flow, here);
    return flow === undefined || first === undefined ? [] : [{ flow, priority, ...first }];
  });
  for (const [index, next] of open.entries()) {
    const othersWait = index < open.length - 1;
    if (othersWait && next.flow.inARow >= inARow) {
      next.flow.inARow = 0;
      continue;
    }
    next.flow.inARow = othersWait ? next.flow.inARow + 1 : 0;
    return next;
  }
  return undefined;
}

function firstOf({ waiting }: Flow, here: unknown) {
  const own = waiting.get(here);
  for (const [who, waiter] of waiting) {
    if (who === here || waiter.mayCome()) return { who, waiter };
    break;
  }
  return own && { who: here, waiter: own };
}
