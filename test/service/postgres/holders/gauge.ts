import { setTimeout as sleep } from "node:timers/promises";
import { lastRows, type PgClient } from "../node-postgres.ts";

/** Logs a client in again and again that does nothing wrong, and measures how long it is kept out. */
export class Gauge {
  #longest = 0;
  #running = true;
  readonly #done: Promise<void>;

  constructor(connect: () => Promise<PgClient>) {
    this.#done = this.#measure(connect);
  }

  /** The longest time between two logins, in milliseconds. */
  async end(): Promise<number> {
    this.#running = false;
    // A login may wait for as long as the branch is there.
    await Promise.race([this.#done, sleep(1000)]);
    return Math.round(this.#longest);
  }

  async #measure(connect: () => Promise<PgClient>): Promise<void> {
    let last = performance.now();
    while (this.#running) {
      const entered = await connect().then(
        (client) => lastRows(client, ["SELECT 1"]).then(Boolean, () => false),
        () => false,
      );
      this.#longest = Math.max(this.#longest, performance.now() - last);
      if (entered) last = performance.now();
      await sleep(50);
    }
  }
}
