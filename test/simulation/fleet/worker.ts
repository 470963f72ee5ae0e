import { parentPort, workerData } from "node:worker_threads";
import { z } from "zod";
import { plantMutant } from "../mutants.ts";

// Plays seeds with a mistake in the operator, which must not be loaded before it, and tells what was wrong in each.

const Work = z.object({
  mutant: z.object({ file: z.string(), line: z.string(), as: z.string() }),
  seeds: z.array(z.number()),
});

const { mutant, seeds } = Work.parse(workerData);
plantMutant(mutant);
const { playFleet } = await import("./play.ts");
for (const seed of seeds) parentPort?.postMessage(await playFleet(seed).catch((error: unknown) => [String(error)]));
