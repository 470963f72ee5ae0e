import { Worker } from "node:worker_threads";
import { inject } from "vitest";

declare module "vitest" {
  export interface ProvidedContext {
    /** For so long a file may do nothing new: longer than any single test may take. In milliseconds. */
    mostSilentMs: number;
  }
}

/** What a file has come to. */
export interface Progress {
  file: string;
  /** The test that runs; absent while none does. */
  test?: string;
}

const workerData = { mostSilentMs: inject("mostSilentMs") };
/** One thread for all files that this process runs. */
const thread = new Worker(new URL("thread.ts", import.meta.url), { workerData, execArgv: [] });
thread.unref();

/** Tells the thread what a file has come to; nothing where it has ended. */
export function tell(progress: Progress | undefined): void {
  thread.postMessage(progress);
}
