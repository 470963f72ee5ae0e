import { Dice } from "../dice.ts";
import { seededRandom } from "../random.ts";
import type { Action } from "../world/actions.ts";
import { noFaults, type Rates } from "../world/fault-plan.ts";
import { perform } from "../world/perform.ts";
import type { Violation } from "../world/records.ts";
import { comeToRest } from "../world/run.ts";
import { changeOf, type Member, newMember, specOf } from "../world/script.ts";
import { branchesOf, projects } from "../world/service-seed.ts";
import { World } from "../world/world.ts";

const minute = 60_000;
const hour = 60 * minute;
/** In the rest of each hour faults stop, and everything has to come to rest and be well. */
const churnMs = 48 * minute;
/** How long the API server remembers events. */
const eventsLiveMs = hour;
/** How often the API server forgets what its watches missed, as kube-apiserver has etcd do. */
const compactEveryMs = 5 * minute;
const mistypedAnHour = 4;
const names = Array.from({ length: 12 }, (_, index) => `c${index}`);

/** A request in twenty or so goes wrong on its way to the service, and one in fifty to the API server. */
const mildFaults: Rates = {
  ...noFaults,
  service: { refused: 0.01, lost: 0.01, late: 0.003, beyond: 0, status: 0.02, broken: 0.005, cut: 0.005, lag: 0.03 },
  cluster: { ...noFaults.cluster, refused: 0.005, lost: 0.005, status: 0.005, cutWatch: 0.002, lag: 0.05 },
  slowestMs: 300,
  slowestLineMs: 500,
  mostLagMs: 3000,
};

export interface DayOptions {
  seed: number;
  hours: number;
  /** Called when the hour is over and everything is at rest. */
  onHour: (hour: number, world: World) => Promise<void>;
}

/** Plays a churning fleet for hours on end, hour by hour; answers with the first promise that was broken, if any. */
export async function playDay({ seed, hours, onHour }: DayOptions): Promise<Violation | undefined> {
  const world = new World({ seed, operators: 2, rates: mildFaults });
  try {
    const dice = new Dice(seededRandom(seed ^ 0x0da7));
    const workload = new Churn(world, dice);
    keepHouse(world);
    world.start();
    for (let number = 1; number <= hours; number++) {
      world.weather.rates = mildFaults;
      await workload.churn((number - 1) * hour + churnMs, number);
      await comeToRest(world);
      await world.runUntil(number * hour);
      const [broken] = world.promises.violations;
      if (broken !== undefined) return broken;
      world.invariants.forget();
      await onHour(number, world);
    }
    return undefined;
  } finally {
    world.close();
  }
}

/** What only the world remembers is forgotten in time, as it is outside. */
function keepHouse(world: World): void {
  const { clock, server, promises } = world;
  clock.after(compactEveryMs, () => {
    server.store.compact();
    promises.forget(clock.monotonic() - hour);
    const events = server.resource("", "events");
    for (const event of server.store.list(events)) {
      const { creationTimestamp } = event.metadata;
      if (Date.parse(creationTimestamp) < clock.now() - eventsLiveMs) server.store.remove(events, event);
    }
    keepHouse(world);
  });
}

/** People who come and go all day: every half minute or so somebody does something. */
class Churn {
  readonly #world: World;
  readonly #dice: Dice;
  readonly #members = new Map<string, Member>();
  #count = 0;

  constructor(world: World, dice: Dice) {
    this.#world = world;
    this.#dice = dice;
  }

  async churn(untilMs: number, hourNumber: number): Promise<void> {
    const { clock, promises } = this.#world;
    for (let nth = 0; nth < mistypedAnHour; nth++) this.#mistype(`${hourNumber}-${nth}`);
    for (;;) {
      const next = clock.monotonic() + this.#dice.between(1000, minute);
      if (next > untilMs || promises.violations.length > 0) break;
      await this.#world.runUntil(next);
      perform(this.#world, this.#next());
    }
    await this.#world.runUntil(untilMs);
  }

  /** Somebody names a project that does not exist, and takes it back. */
  #mistype(what: string): void {
    const { workload, clock } = this.#world;
    const name = `mistyped-${what}`;
    workload.apply(name, { projectID: `no-such-project-${what}`, branchID: "br-none", type: "read_only" });
    clock.after(5 * minute, () => workload.delete(name));
  }

  #next(): Action {
    const dice = this.#dice;
    const name = dice.pick(names);
    const member = this.#memberOf(name);
    const nth = dice.between(0, 12);
    this.#count += 1;
    return dice.weighted<Action>([
      [30, () => ({ do: "apply", name, spec: specOf(dice, member) })],
      [15, () => this.#deletion(name)],
      [8, () => ({ do: "annotate", name, key: "restartedAt", value: `restart-${this.#count}` })],
      [2, () => ({ do: "replace", name })],
      [2, () => ({ do: "wipe status", name })],
      [3, () => this.#scale()],
      [6, () => ({ do: "change endpoint", nth, body: changeOf(dice) })],
      [2, () => ({ do: "delete endpoint", nth })],
      [6, () => ({ do: "connect", nth })],
      [1, () => ({ do: "rotate key", revokeAfterMs: dice.between(0, 30_000) })],
      [1, () => ({ do: "cut watches" })],
      [0.5, () => ({ do: "service down", ms: dice.between(1000, 30_000) })],
      // Longer than a lease lives: the other operator takes over.
      [0.3, () => ({ do: "cluster down", ms: 30_000 })],
    ]);
  }

  #deletion(name: string): Action {
    this.#members.delete(name);
    return { do: "delete", name };
  }

  #scale(): Action {
    const project = this.#dice.pick(projects);
    const template = { projectID: project, branchID: branchesOf(project)[0] ?? "" };
    return { do: "scale pool", name: `pool-${project}`, replicas: this.#dice.between(0, 3), template };
  }

  #memberOf(name: string): Member {
    const known = this.#members.get(name);
    if (known !== undefined) return known;
    const member = newMember(this.#dice, name);
    this.#members.set(name, member);
    return member;
  }
}
