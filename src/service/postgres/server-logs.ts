import { stat, truncate } from "node:fs/promises";
import type { ServiceClock } from "../clock.ts";

/** The longest log of a server that is kept, in bytes. */
const longestLog = 4_000_000;

/** Interval at which the logs of servers that run are looked at, in milliseconds. */
const everyMs = 1000;

/** The length of a log, which is emptied where it is too long: servers write at its end, wherever that is. */
export async function lengthOfLog(file: string): Promise<number> {
  const size = await stat(file).then(
    ({ size: bytes }) => bytes,
    () => 0,
  );
  if (size <= longestLog) return size;
  await truncate(file);
  return 0;
}

/** Empties logs that are too long, also while their servers run: a client writes what it likes, with `RAISE`. */
export class LogKeeper {
  readonly #clock: Pick<ServiceClock, "after">;
  readonly #files: () => readonly string[];
  #stopTimer = () => {};
  #work: Promise<unknown> = Promise.resolve();
  #closed = false;

  /** `files`: the logs of servers that run. */
  constructor(clock: Pick<ServiceClock, "after">, files: () => readonly string[]) {
    this.#clock = clock;
    this.#files = files;
  }

  begin(): void {
    this.#stopTimer = this.#clock.after(everyMs, () => {
      this.#work = Promise.allSettled(this.#files().map(lengthOfLog)).finally(() => {
        if (!this.#closed) this.begin();
      });
    });
  }

  /** Resolves when nothing is under way. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#stopTimer();
    await this.#work;
  }
}
