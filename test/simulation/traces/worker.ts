import { parentPort, workerData } from "node:worker_threads";
import { z } from "zod";
import { traceOf } from "./trace.ts";

const { from, until, step, messages } = z
  .object({ from: z.number(), until: z.number(), step: z.number(), messages: z.boolean() })
  .parse(workerData);
for (let seed = from; seed < until; seed += step) parentPort?.postMessage(await traceOf(seed, { messages }));
