const smallest = 1;

/** A pause follows each batch of this size or more. */
const unhurried = 4;

/** The pause, in milliseconds: time for a person to correct a mistyped number. */
const pauseMs = 500;

export interface SlowStartOptions<Trouble> {
  /** Monotonic milliseconds. */
  now: () => number;
  /** Whether what was planned is still wanted: asked before each batch but the first. */
  isWanted: () => Promise<boolean>;
  /** Carries one batch out; answers what was refused of it. */
  carryOut: (numbers: readonly number[]) => Promise<Trouble | undefined>;
}

/** How far a run of batches got. */
export interface Progress<Trouble> {
  refusal?: Trouble;
  /** Milliseconds until the rest is due; absent where all was tried, or what is left is not wanted any more. */
  waitMs?: number;
}

interface Ramp {
  generation: number;
  size: number;
  /** Monotonic milliseconds. */
  notBefore: number;
}

/**
 * Creates in batches of 1, 2, 4 and so on, as the ReplicaSet controller does, so that a number that is wrong, or that a
 * quota refuses, does not cost a thousand requests. A refusal begins at 1 again; two batches refused in a row end the
 * run.
 */
export class SlowStart {
  /** By the uid of the pool. */
  readonly #ramps = new Map<string, Ramp>();

  async run<Trouble>(
    uid: string,
    generation: number,
    numbers: readonly number[],
    { now, isWanted, carryOut }: SlowStartOptions<Trouble>,
  ): Promise<Progress<Trouble>> {
    const known = this.#ramps.get(uid);
    const ramp = known?.generation === generation ? known : { generation, size: smallest, notBefore: now() };
    this.#ramps.set(uid, ramp);
    let refusal: Trouble | undefined;
    let refused = 0;
    for (let done = 0; done < numbers.length; ) {
      const waitMs = this.waitMs(uid, generation, now());
      if (waitMs > 0) return { ...(refusal === undefined ? {} : { refusal }), waitMs };
      // Each batch is sized, and wanted, by what became of the one before.
      if (done > 0 && !(await isWanted())) return refusal === undefined ? {} : { refusal };
      const batch = numbers.slice(done, done + ramp.size);
      done += batch.length;
      const trouble = await carryOut(batch);
      refusal ??= trouble;
      refused = trouble === undefined ? 0 : refused + 1;
      if (refused === 2) break;
      if (ramp.size >= unhurried) ramp.notBefore = now() + pauseMs;
      ramp.size = trouble === undefined ? ramp.size * 2 : smallest;
    }
    this.forget(uid);
    return refusal === undefined ? {} : { refusal };
  }

  /** How long the next batch has to wait, in milliseconds. */
  waitMs(uid: string, generation: number, now: number): number {
    const ramp = this.#ramps.get(uid);
    return ramp?.generation === generation ? Math.max(0, ramp.notBefore - now) : 0;
  }

  /** Nothing is left to create: the next run begins with the smallest batch. */
  forget(uid: string): void {
    this.#ramps.delete(uid);
  }
}
