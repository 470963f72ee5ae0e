import { setNewest } from "../runtime/caches.ts";
import type { Clock } from "../runtime/clock.ts";
import { seldomMs } from "../runtime/waits.ts";

/** The most writes to one project under way. */
const mostAtOnce = 64;

/**
 * Window of the writes to one project that are under way at once, whichever connections lead to it. Each accepted write
 * adds one. A 423 proves that nothing was done, so trying is safe: the window falls to one and grows again after ten
 * minutes.
 */
export class WriteWindow {
  readonly #clock: Clock;
  #size = 1;
  #underWay = 0;
  #refusals = 0;
  #growsFrom = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#size;
  }

  /** Writes on their way, of all who share this window. */
  get underWay(): number {
    return this.#underWay;
  }

  /** Number of 423 answers of the service. */
  get refusals(): number {
    return this.#refusals;
  }

  /** A write takes a place. */
  enter(): void {
    this.#underWay += 1;
  }

  /** Gives a place back. */
  leave(): void {
    this.#underWay -= 1;
  }

  accepted(): void {
    if (this.#clock.monotonic() >= this.#growsFrom) this.#size = Math.min(mostAtOnce, this.#size + 1);
  }

  /** The service answered 423. */
  refused(): void {
    this.#size = 1;
    this.#refusals += 1;
    this.#growsFrom = this.#clock.monotonic() + seldomMs;
  }
}

/** Maximum number of windows remembered; the one not used for longest goes first. */
const mostRemembered = 10_000;

/** The windows of all projects, by base URL and project: they outlive sessions and listers, and end with the term. */
export class WriteWindows {
  readonly #clock: Clock;
  readonly #windows = new Map<string, WriteWindow>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  of(baseURL: string, projectID: string): WriteWindow {
    const key = `${baseURL} ${projectID}`;
    const window = this.#windows.get(key) ?? new WriteWindow(this.#clock);
    setNewest(this.#windows, key, window, mostRemembered);
    return window;
  }
}
