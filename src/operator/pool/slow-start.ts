const smallest = 1;

/** A pause follows each batch of at least this size. */
const pausedFrom = 4;

/** The pause, in milliseconds: time to correct a mistyped number. */
const pauseMs = 500;

export interface SlowStartOptions<Refusal> {
  /** Monotonic milliseconds. */
  now: () => number;
  /** True while the plan is still wanted: called before each batch but the first. */
  isWanted: () => Promise<boolean>;
  /** Executes a batch; returns the first refusal. */
  execute: (numbers: readonly number[]) => Promise<Refusal | undefined>;
}

/** The result of a run of batches. */
export interface Progress<Refusal> {
  refusal: Refusal | undefined;
  /** Milliseconds until the next batch; absent if all were tried or the rest is not wanted any more. */
  waitMs?: number;
}

interface Ramp {
  generation: number;
  size: number;
  /** Monotonic milliseconds. */
  notBefore: number;
}

/**
 * The creates of one pool, in batches of 1, 2, 4 and so on, as the ReplicaSet controller does: a mistyped replica count
 * or a quota does not cost a thousand requests. After a refusal the next batch is 1; two refused batches in a row end
 * the run.
 */
export class SlowStart {
  #ramp: Ramp | undefined;

  async run<Refusal>(
    generation: number,
    numbers: readonly number[],
    { now, isWanted, execute }: SlowStartOptions<Refusal>,
  ): Promise<Progress<Refusal>> {
    const known = this.#ramp;
    const ramp = known?.generation === generation ? known : { generation, size: smallest, notBefore: now() };
    this.#ramp = ramp;
    let refusal: Refusal | undefined;
    let refused = 0;
    for (let done = 0; done < numbers.length; ) {
      const waitMs = this.waitMs(generation, now());
      if (waitMs > 0) return { refusal, waitMs };
      // Size and need of a batch depend on the result of the previous one.
      if (done > 0 && !(await isWanted())) return { refusal };
      const batch = numbers.slice(done, done + ramp.size);
      done += batch.length;
      const trouble = await execute(batch);
      refusal ??= trouble;
      refused = trouble === undefined ? 0 : refused + 1;
      if (refused === 2) break;
      if (ramp.size >= pausedFrom) ramp.notBefore = now() + pauseMs;
      ramp.size = trouble === undefined ? ramp.size * 2 : smallest;
    }
    // The next run starts with the smallest batch.
    this.#ramp = undefined;
    return { refusal };
  }

  /** Milliseconds until the next batch may start. */
  waitMs(generation: number, now: number): number {
    return this.#ramp?.generation === generation ? Math.max(0, this.#ramp.notBefore - now) : 0;
  }
}
