import { type Clock, sleep } from "../../operator/runtime/clock.ts";

/**
 * Calls `look` until it answers that all is done, with the pauses that it asks for, in milliseconds. Returns false if
 * that takes longer than `timeoutMs`. An interrupted command throws the reason of its signal.
 */
export async function repeat(
  look: () => Promise<number | "done">,
  { clock, signal }: { clock: Clock; signal: AbortSignal },
  timeoutMs: number,
): Promise<boolean> {
  const endsAt = clock.monotonic() + timeoutMs;
  for (;;) {
    signal.throwIfAborted();
    const pauseMs = await look();
    if (pauseMs === "done") return true;
    if (clock.monotonic() >= endsAt) return false;
    await sleep(clock, pauseMs, signal);
  }
}
