import type { Clock } from "../runtime/clock.ts";

/** A signal that aborts with the caller's signal or after a time, whichever is first. */
export interface Deadline {
  readonly signal: AbortSignal;
  /** Restarts the time. */
  restart(): void;
  /** Must be called in the end. */
  cancel(): void;
}

export function deadlineOf(clock: Clock, timeoutMs: number, outer: AbortSignal, late: string): Deadline {
  const controller = new AbortController();
  const onAbort = () => controller.abort(outer.reason);
  if (outer.aborted) onAbort();
  else outer.addEventListener("abort", onAbort, { once: true });
  const start = () => clock.after(timeoutMs, () => controller.abort(new Error(late)));
  let cancelTimer = start();
  return {
    signal: controller.signal,
    restart() {
      cancelTimer();
      cancelTimer = start();
    },
    cancel() {
      cancelTimer();
      outer.removeEventListener("abort", onAbort);
    },
  };
}
