// The thread of watch.ts: it runs on where the one that runs the tests never lets go.
import { writeSync } from "node:fs";
import { parentPort, workerData } from "node:worker_threads";
import type { Progress } from "./watch.ts";

const { mostSilentMs }: { mostSilentMs: number } = workerData;
let timer: NodeJS.Timeout | undefined;

parentPort?.on("message", (progress: Progress | undefined) => {
  clearTimeout(timer);
  if (progress !== undefined) timer = setTimeout(() => end(progress), mostSilentMs);
});

function end({ file, test = "outside of any test" }: Progress): void {
  writeSync(2, `${file} has done nothing new for ${mostSilentMs / 1000} s and is ended: ${test}\n`);
  process.kill(process.pid, "SIGKILL");
}
