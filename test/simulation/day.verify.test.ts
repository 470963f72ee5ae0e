import { Worker } from "node:worker_threads";
import { describe, expect, it } from "vitest";
import { WorkQueue } from "../../src/operator/runtime/workqueue.ts";
import { slopePerHour } from "../soak/figures.ts";
import { VirtualClock } from "../support/virtual-clock.ts";
import { type DaySetting, HourSeen } from "./day/seen.ts";
import { countClassesBelow, sizes } from "./day/sizes.ts";

const hours = 24;
/** Megabytes: what the simulated world remembers of an hour, and the fleet has more of in it, is some four tenths. */
const mostGrowthPerHour = 0.5;
/** What is kept of many things that are over, up to a bound that a day may not reach. */
const bounds: Record<string, number> = {
  "EventRecorder.#written": 4096,
  "EventRecorder.#spent": 4096,
  "FollowedOperations.#known": 2 * 1000,
  // Those of followed operations; the Computes of the other indexes are counted where those keep them.
  "IndexEntries.#entries": 2 * 1000,
  "Index.#ids": 2 * 1000,
  "FollowedOperations.#endedAt": 2 * 1000,
  "FollowedOperations.#givenUp": 2 * 1000,
};
function play(setting: DaySetting): Promise<HourSeen[]> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL("./day/worker.ts", import.meta.url), { workerData: setting });
    const seen: HourSeen[] = [];
    worker.on("message", (message) => seen.push(HourSeen.parse(message)));
    worker.once("error", reject);
    worker.once("exit", () => resolve(seen));
  });
}

describe("a fleet that is changed twice a minute, with two operators and mild faults", () => {
  it(`keeps every promise for ${hours} hours, comes to rest in each, and holds no more at the end than at the start`, async () => {
    const day = await play({ seed: 1, hours, sizesEvery: 6 });
    expect(day.map(({ hour }) => hour)).toEqual(Array.from({ length: hours }, (_, index) => index + 1));
    expect(day.at(-1)?.rejections).toBe(0);

    // Until the first count the heap also has what the modules were loaded from, and how much that is changes.
    const counted = day.filter((seen) => seen.sizes.length > 0);
    expect(counted).toHaveLength(4);
    const later = day.filter(({ hour }) => hour > (counted[0]?.hour ?? 0));
    const samples = later.map(({ hour, heapMB }) => ({ minutes: hour * 60, heapMB, rssMB: 0 }));
    expect(slopePerHour(samples, "heapMB")).toBeLessThan(mostGrowthPerHour);
    const [first] = day;
    for (const { timers, computes } of day) expect(timers).toBeLessThan((first?.timers ?? 0) + 2 * computes);

    const [atFirst] = partition(counted[0]?.sizes ?? []);
    for (const { sizes: found, computes } of counted) {
      const [instances, entries] = partition(found);
      // Two operators, two projects: no more than at the first count, or than one for each Compute, or for each base
      // URL and project that was ever used.
      const perCompute = new Map([["ReconcileState", 2 * computes]]);
      // Six rotations for the budget of each operator, and one for the writes of each of its projects. A turnstile for
      // the writes of each project, the brakes and each budget, of which a key that was just rotated has one more.
      const bounded = new Map([
        ["WriteWindow", 10_000],
        ["Rotation", 16],
        ["Turnstile", 8],
        ["FairQueue", 13],
      ]);
      const most = (name: string) => perCompute.get(name) ?? bounded.get(name) ?? Math.max(2, atFirst.get(name) ?? 0);
      expect([...instances].filter(([name, count]) => count > most(name))).toEqual([]);
      const large = entries.filter(([name, count]) => count > (bounds[name] ?? 20 + 2 * computes));
      expect(large).toEqual([]);
    }
  });
});

/** Numbers of instances, by class, and of entries, by field. */
function partition(found: readonly (readonly [string, number])[]) {
  const isField = ([name]: readonly [string, number]) => name.includes(".");
  return [new Map(found.filter((one) => !isField(one))), found.filter(isField)] as const;
}

it("the measured sizes are those of every instance that is alive", async () => {
  await countClassesBelow("src/operator/runtime", (file) => ["due-keys.ts", "workqueue.ts"].includes(file));
  const options = { clock: new VirtualClock(), random: () => 0.5 };
  const queues = [1, 2].map(
    () => new WorkQueue({ ...options, backoff: { baseMs: 1, factor: 2, maxMs: 10, jitter: 0 } }),
  );
  for (const queue of queues) for (const key of ["a", "b", "c"]) queue.addAfter(key, 1000);
  const found = sizes();
  expect([found.get("WorkQueue"), found.get("DueKeys.#times")]).toEqual([2, 6]);
});
