import type { ServiceClock } from "../../../src/service/clock.ts";
import { realClock } from "../../support/real-clock.ts";

/**
 * The machine's clock, which a test stops: the service's operations then stay in progress until they are to be over,
 * whatever else the machine does.
 */
export class HeldClock implements ServiceClock {
  #heldAt: number | undefined;

  now(): number {
    return this.#heldAt ?? realClock.now();
  }

  after(ms: number, task: () => void): () => void {
    return realClock.after(ms, task);
  }

  hold(): void {
    this.#heldAt = this.now();
  }

  /** Lets so much time pass while it is held. */
  advance(ms: number): void {
    this.#heldAt = this.now() + ms;
  }

  release(): void {
    this.#heldAt = undefined;
  }
}
