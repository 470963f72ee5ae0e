import type { Logger } from "./log.ts";

/** The end that is expected of the work, and the log of any other. */
export interface Unattended {
  signal: AbortSignal;
  log: Logger;
}

/** Runs work that no caller awaits. An abort ends it silently; any other error is a defect, and is logged. */
export async function unattended(work: Promise<unknown>, { signal, log }: Unattended, message: string): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!signal.aborted) log.error({ error }, message);
  }
}

/** Handles a rejection that the abort of `signal` explains; throws any other error again. */
export function unlessStopped(signal: AbortSignal): (error: unknown) => void {
  return (error) => {
    if (!signal.aborted) throw error;
  };
}
