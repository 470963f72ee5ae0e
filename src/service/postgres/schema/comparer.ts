import { Worker } from "node:worker_threads";
import { z } from "zod";
import type { ServiceClock } from "../../clock.ts";
import type { ComparedSchemas, Comparison } from "../../domain/catalog.ts";
import { refusals } from "../../refusal.ts";
import { Shares } from "../../sharing/shares.ts";
import { Slots } from "../../sharing/slots.ts";
import { ofMemory } from "../../system-limits.ts";
import { mostEdits } from "./patch.ts";

/** The longest time of one comparison, in milliseconds. */
const limitMs = 10_000;

/** The number of comparisons that run or wait, of which one owner has half at most. */
const mostAtOnce = 8;

const mebibyte = 1024 ** 2;

/** Memory of a comparison on a machine or in a container of so much: its clients' texts would have more. */
export function memoryOf(all?: number) {
  return {
    maxOldGenerationSizeMb: ofMemory(512, mebibyte, all),
    maxYoungGenerationSizeMb: ofMemory(64, 8 * mebibyte, all),
  };
}

const memory = memoryOf();

/** Beside this file, in the bundle too. */
const program = new URL(import.meta.url.endsWith(".ts") ? "./comparing.ts" : "./comparing.js", import.meta.url);

const Compared = z.object({ patch: z.string().optional() });

/** Compares schemas, one after another, in a thread of its own: its clients' texts say how long that takes. */
export class SchemaComparer {
  readonly #clock: ServiceClock;
  readonly #line = new Slots(1);
  readonly #shares = new Shares(mostAtOnce);

  constructor(clock: ServiceClock) {
    this.#clock = clock;
  }

  /** The difference as a patch, empty where there is none. `gone` ends the comparison. Rejects with `Refusal`. */
  async compare({ owner, ...comparison }: ComparedSchemas, gone: AbortSignal | undefined): Promise<string> {
    if (comparison.before === comparison.after) return "";
    const part = this.#shares.of(owner);
    if (!part.take(1)) throw refusals.tooManyRequests("too many comparisons are under way", 1);
    const patch = await this.#line
      .take(async () => (gone?.aborted ? undefined : this.#run(comparison, gone)), owner)
      .finally(() => part.release());
    if (patch !== undefined) return patch;
    throw refusals.unprocessable(
      `the schemas differ in more than ${mostEdits} lines, or take too long to compare: read both with the call for one schema`,
    );
  }

  /** Answers `undefined` where the thread has not come to an end, or has found more than can be shown. */
  #run(workerData: Comparison, gone: AbortSignal | undefined): Promise<string | undefined> {
    const worker = new Worker(program, { workerData, resourceLimits: memory, execArgv: [], env: {} });
    return new Promise((resolve, reject) => {
      const stop = () => void worker.terminate();
      const stopTimer = this.#clock.after(limitMs, stop);
      let patch: string | undefined;
      let failed: Error | undefined;
      worker.once("message", (message) => {
        patch = Compared.parse(message).patch;
      });
      worker.once("error", (error: Error & { code?: string }) => {
        if (error.code !== "ERR_WORKER_OUT_OF_MEMORY") failed = error;
      });
      worker.once("exit", () => {
        stopTimer();
        gone?.removeEventListener("abort", stop);
        if (failed) reject(failed);
        else resolve(patch);
      });
      gone?.addEventListener("abort", stop);
    });
  }
}
