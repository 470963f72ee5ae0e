/**
 * Keys that wait for a worker, in lanes that are served in turn: within a lane first come, first served, and of one
 * lane at most `maxPerLane` at a time. A lane is what shares a fate, such as a tenant's connection: when it is dead,
 * its keys fill their own share of the workers and no more.
 */
export class FairLanes {
  readonly #maxPerLane: number;
  readonly #lanes = new Map<string, Lane>();
  /** The lanes that have a key to give and room for it; the first is next. */
  readonly #turns = new Set<Lane>();
  readonly #laneOfKey = new Map<string, Lane>();

  constructor(maxPerLane: number) {
    this.#maxPerLane = maxPerLane;
  }

  get size(): number {
    return this.#laneOfKey.size;
  }

  has(key: string): boolean {
    return this.#laneOfKey.has(key);
  }

  /** Lines the key up, or moves it where its lane has changed; it keeps the time it has waited since. */
  put(key: string, laneName: string, since: number): void {
    const before = this.#laneOfKey.get(key);
    if (before?.name === laneName) return;
    const waitsSince = before?.waiting.get(key) ?? since;
    if (before !== undefined) this.#take(before, key);
    const lane = this.#lane(laneName);
    lane.waiting.set(key, waitsSince);
    this.#laneOfKey.set(key, lane);
    this.#settle(lane);
  }

  /** The next key whose turn it is, and the hand that gives its place in the lane back; `undefined` when none may run. */
  next(): { key: string; since: number; release: () => void } | undefined {
    for (const lane of this.#turns) {
      for (const [key, since] of lane.waiting) {
        lane.running += 1;
        this.#turns.delete(lane);
        this.#take(lane, key);
        return { key, since, release: () => this.#release(lane) };
      }
    }
    return undefined;
  }

  /** Since when the key has waited that has waited longest. */
  oldest(): number | undefined {
    let oldest: number | undefined;
    for (const lane of this.#lanes.values()) {
      for (const since of lane.waiting.values()) oldest = oldest === undefined ? since : Math.min(oldest, since);
    }
    return oldest;
  }

  clear(): void {
    for (const lane of this.#lanes.values()) lane.waiting.clear();
    this.#laneOfKey.clear();
    this.#turns.clear();
    for (const lane of this.#lanes.values()) this.#settle(lane);
  }

  #release(lane: Lane): void {
    lane.running -= 1;
    this.#settle(lane);
  }

  #take(lane: Lane, key: string): void {
    lane.waiting.delete(key);
    this.#laneOfKey.delete(key);
    this.#settle(lane);
  }

  #lane(name: string): Lane {
    const known = this.#lanes.get(name);
    if (known !== undefined) return known;
    const lane = { name, waiting: new Map<string, number>(), running: 0 };
    this.#lanes.set(name, lane);
    return lane;
  }

  /** Puts the lane at the end of the turns, or takes it out; forgets it when nothing waits or runs. */
  #settle(lane: Lane): void {
    if (lane.waiting.size > 0 && lane.running < this.#maxPerLane) this.#turns.add(lane);
    else this.#turns.delete(lane);
    if (lane.waiting.size === 0 && lane.running === 0) this.#lanes.delete(lane.name);
  }
}

interface Lane {
  name: string;
  /** Each waiting key and since when, in the order of arrival. */
  waiting: Map<string, number>;
  running: number;
}
