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
 * Creates in batches of 1, 2, 4 and so on, as the ReplicaSet controller does: a mistyped replica count or a quota does
 * not cost a thousand requests. After a refusal the next batch is 1; two refused batches in a row end the run.
 */
export class SlowStart {
  /** By the uid of the pool. */
  readonly #ramps = new Map<string, Ramp>();

  async run<Refusal>(
    uid: string,
    generation: number,
    numbers: readonly number[],
    { now, isWanted, execute }: SlowStartOptions<Refusal>,
  ): Promise<Progress<Refusal>> {
    const known = this.#ramps.get(uid);
    const ramp = known?.generation === generation ? known : { generation, size: smallest, notBefore: now() };
    this.#ramps.set(uid, ramp);
    let refusal: Refusal | undefined;
    let refused = 0;
    for (let done = 0; done < numbers.length; ) {
      const waitMs = this.waitMs(uid, generation, now());
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
    this.forget(uid);
    return { refusal };
  }

  /** Milliseconds until the next batch may start. */
  waitMs(uid: string, generation: number, now: number): number {
    const ramp = this.#ramps.get(uid);
    return ramp?.generation === generation ? Math.max(0, ramp.notBefore - now) : 0;
  }

  /** Ends the ramp: the next run starts with the smallest batch. */
  forget(uid: string): void {
    this.#ramps.delete(uid);
  }
}
