// A worker thread that compares two schemas, and ends: `comparer.ts` starts it.
import { parentPort, workerData } from "node:worker_threads";
import { z } from "zod";
import { patchOf } from "./patch.ts";

const Comparison = z.object({ name: z.string(), before: z.string(), after: z.string() });

parentPort?.postMessage({ patch: patchOf(Comparison.parse(workerData)) });
