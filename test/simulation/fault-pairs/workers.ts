import { Worker } from "node:worker_threads";
import { Tally } from "./pairs.ts";

/** What all first faults came to. */
export interface Total {
  singles: number;
  played: number;
  pairs: number;
  failures: string[];
}

/** Plays every single fault of all scenarios, or of one, and one in `share` of the pairs, on several threads. */
export async function playPairs(
  { workers, share, only }: { workers: number; share: number; only?: string },
  reported: (total: Total) => void = () => {},
): Promise<Total> {
  const total: Total = { singles: 0, played: 0, pairs: 0, failures: [] };
  const take = ({ scenario, played, pairs, failures }: Tally) => {
    total.singles += 1;
    total.played += played;
    total.pairs += pairs;
    total.failures.push(...failures.map((failure) => `${scenario}: ${failure}`));
    reported(total);
  };
  const work = Array.from({ length: workers }, (_, index) => ({ index, workers, share, ...(only && { only }) }));
  await Promise.all(
    work.map(
      (workerData) =>
        new Promise<void>((resolve, reject) => {
          const worker = new Worker(new URL("./worker.ts", import.meta.url), { workerData });
          worker.on("message", (message) => take(Tally.parse(message)));
          worker.once("error", reject);
          worker.once("exit", () => resolve());
        }),
    ),
  );
  return total;
}
