import { getHeapStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { parentPort, workerData } from "node:worker_threads";
import { playDay } from "./day.ts";
import { DaySetting, type HourSeen } from "./seen.ts";
import { countClassesBelow, sizes } from "./sizes.ts";

// A thread of its own, in which nothing else is alive: what its heap holds is the simulated world's.

setFlagsFromString("--expose-gc");
const collectGarbage: unknown = runInNewContext("gc");

let rejections = 0;
process.on("unhandledRejection", () => {
  rejections += 1;
});

/** These load client-node, or real sockets, which no simulated operator has. */
const notSimulated = /kubeconfig|command|http-transport/;
await countClassesBelow("src/operator", (file) => !notSimulated.test(file));
await countClassesBelow("test/simulation/api-server", (file) => /^(store|watch-stream)\.ts$/.test(file));

const { seed, hours, sizesEvery } = DaySetting.parse(workerData);
const broken = await playDay({
  seed,
  hours,
  onHour: async (hour, world) => {
    await removeFinalizer();
    tell({
      hour,
      heapMB: getHeapStatistics().used_heap_size / 1024 / 1024,
      timers: world.clock.pending,
      computes: world.workload.computes().length,
      requests: world.invariants.steps,
      rejections,
      sizes: hour % sizesEvery === 0 ? [...sizes()] : [],
    });
  },
});
if (broken !== undefined)
  throw new Error(`${broken.promise}: ${broken.message}, after ${broken.atMs / 3_600_000} hours`);

/** What registries of finalization hold goes only after a collection, in turns of the event loop. */
async function removeFinalizer(): Promise<void> {
  for (let times = 0; times < 3; times++) {
    if (typeof collectGarbage === "function") collectGarbage();
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

function tell(seen: HourSeen): void {
  parentPort?.postMessage(seen);
}
