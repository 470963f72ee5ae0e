import type { ServiceClock } from "../../../../src/service/clock.ts";
import { realClock } from "../../../support/real-clock.ts";

/** The longest wait that a test waits out, in milliseconds: the checks whether a server is up. */
const longestWait = 100;

/** A clock that a test advances; short waits pass with real time. */
export class HastenedClock implements ServiceClock {
  #advanced = 0;
  readonly #waiting = new Set<{ ms: number; due: number; task: () => void }>();

  now(): number {
    return realClock.now() + this.#advanced;
  }

  after(ms: number, task: () => void): () => void {
    if (ms <= longestWait) return realClock.after(ms, task);
    const waiting = { ms, due: this.now() + ms, task };
    this.#waiting.add(waiting);
    return () => this.#waiting.delete(waiting);
  }

  /** Resolves when short waits have ended several times. */
  async looks(): Promise<void> {
    for (let times = 0; times < 4; times += 1) await new Promise<void>((resolve) => this.after(10, resolve));
  }

  /** Number of long waits. */
  get pending(): number {
    return this.#waiting.size;
  }

  /** Number of waits that were set for so long: others come and go beside them. */
  waitsOf(ms: number): number {
    return [...this.#waiting].filter((waiting) => waiting.ms === ms).length;
  }

  advance(ms: number): void {
    this.#advanced += ms;
    for (const waiting of this.#waiting) {
      if (waiting.due > this.now() || !this.#waiting.delete(waiting)) continue;
      waiting.task();
    }
  }
}
