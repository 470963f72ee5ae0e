import { stat, truncate } from "node:fs/promises";
import type { ServiceClock } from "../../clock.ts";
import { Repeated } from "../../repeated.ts";

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

/**
 * Empties logs that are too long, also while their servers run: a client writes what it likes, with `RAISE`. `files`:
 * the logs of servers that run.
 */
export function logKeeper(
  clock: Pick<ServiceClock, "after">,
  files: () => readonly string[],
  onError: (error: unknown) => void,
): Repeated {
  return new Repeated(clock, everyMs, () => Promise.allSettled(files().map(lengthOfLog)), onError);
}
