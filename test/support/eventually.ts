import { setTimeout as sleep } from "node:timers/promises";
import { patience } from "./patience.ts";

/**
 * Asks again until `ask` answers something other than `undefined`, and resolves with it. Where `timeoutMs` pass while
 * this process runs, or `ask` throws to the end, it rejects and says what was waited for. For real processes, which no
 * clock drives. The default is long enough for a garbage collector that stands still half a minute while kinds change.
 */
export async function eventually<T>(
  what: string,
  ask: () => Promise<T | undefined> | T | undefined,
  { timeoutMs = 90_000, everyMs = 100 }: { timeoutMs?: number; everyMs?: number } = {},
): Promise<T> {
  const { isOver, stop } = patience(timeoutMs);
  let failure: unknown;
  try {
    do {
      try {
        failure = undefined;
        const answer = await ask();
        if (answer !== undefined) return answer;
      } catch (error) {
        failure = error;
      }
      await sleep(everyMs);
    } while (!isOver());
  } finally {
    stop();
  }
  throw new Error(`waited ${timeoutMs} ms in vain for: ${what}`, { cause: failure });
}
