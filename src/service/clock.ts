/** The service's time. Only `main.ts` makes a real clock; tests drive their own. */
export interface ServiceClock {
  /** Wall time in milliseconds since the epoch. */
  now(): number;
  /** Runs `task` once after `ms` milliseconds, unless the returned function is called first. */
  after(ms: number, task: () => void): () => void;
  /** The service's time at a time that another program's clock showed; the same where this is left out. */
  ofWall?(ms: number): number;
  /** The other way round; of a time that was skipped, the time at which it was. */
  wallOf?(ms: number): number;
}

/** Resolves after so many milliseconds. */
export function elapsed(clock: Pick<ServiceClock, "after">, ms: number): Promise<void> {
  return new Promise((resolve) => {
    clock.after(ms, resolve);
  });
}

/** Runs `late` where a step has not ended after so many milliseconds, and waits for its end all the same. */
export async function limited<Result>(
  clock: Pick<ServiceClock, "after">,
  ms: number,
  late: () => void,
  step: Promise<Result>,
): Promise<Result> {
  const stopTimer = clock.after(ms, late);
  try {
    return await step;
  } finally {
    stopTimer();
  }
}

/** The result of a step; `undefined` where it takes longer. It goes on then, and its end is nobody's any more. */
export async function within<Result>(
  clock: Pick<ServiceClock, "after">,
  ms: number,
  step: Promise<Result>,
): Promise<Result | undefined> {
  const late = Promise.withResolvers<undefined>();
  return limited(clock, ms, () => late.resolve(undefined), Promise.race([step, late.promise]));
}

/** Advances of a clock that are told from one another: of more, the oldest count as one. */
const mostAdvances = 1000;

/** A clock that can be advanced, and otherwise runs with the given one. */
export class AdvanceableClock implements ServiceClock {
  readonly #clock: ServiceClock;
  /** By how much it was advanced, and when by the given clock. */
  readonly #advances: { at: number; ms: number }[] = [];

  constructor(clock: ServiceClock) {
    this.#clock = clock;
  }

  now(): number {
    return this.ofWall(this.#clock.now());
  }

  ofWall(wall: number): number {
    return this.#advances.reduce((time, { at, ms }) => (at <= wall ? time + ms : time), wall);
  }

  wallOf(time: number): number {
    let skipped = 0;
    for (const { at, ms } of this.#advances) {
      if (time < at + skipped) break;
      if (time < at + skipped + ms) return at;
      skipped += ms;
    }
    return time - skipped;
  }

  after(ms: number, task: () => void): () => void {
    return this.#clock.after(ms, task);
  }

  advance(ms: number): void {
    this.#advances.push({ at: this.#clock.now(), ms });
    const [oldest, next] = this.#advances;
    if (this.#advances.length <= mostAdvances || !oldest || !next) return;
    next.ms += oldest.ms;
    this.#advances.shift();
  }
}

/** A number in [0, 1), as from Math.random. */
export type Random = () => number;

/** A time in milliseconds since the epoch as the API writes it: ISO 8601, UTC. */
export function timestamp(ms: number): string {
  return new Date(ms).toISOString();
}

/** A time in whole seconds as the API writes it. */
export function wholeSeconds(ms: number): string {
  return timestamp(ms).replace(/\.\d+Z$/, "Z");
}
