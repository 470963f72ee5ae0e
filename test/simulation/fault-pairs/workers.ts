import { Worker } from "node:worker_threads";
import { type Chosen, Tally, type Work } from "./pairs.ts";

/** What all first faults came to. */
export interface Total {
  singles: number;
  played: number;
  pairs: number;
  failures: string[];
}

/** Plays these faults, alone and as pairs, on several threads. */
export async function playPairs(
  { workers, ...chosen }: Chosen & { workers: number },
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
  const work = Array.from({ length: workers }, (_, index): Work => ({ ...chosen, index, workers }));
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
