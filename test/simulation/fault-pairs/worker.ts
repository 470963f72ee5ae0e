import { parentPort, workerData } from "node:worker_threads";
import { playWork, Work } from "./pairs.ts";

await playWork(Work.parse(workerData), (tally) => parentPort?.postMessage(tally));
