import { getEventListeners } from "node:events";
import { syncBuiltinESMExports } from "node:module";
import { monitorEventLoopDelay } from "node:perf_hooks";
import workerThreads, { type WorkerOptions } from "node:worker_threads";
import { describe, expect, it, test, vi } from "vitest";
import { memoryOf, SchemaComparer } from "../../../src/service/postgres/schema/comparer.ts";
import { mostEdits, patchOf } from "../../../src/service/postgres/schema/patch.ts";
import { Refusal } from "../../../src/service/refusal.ts";
import { realClock } from "../../support/real-clock.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";

const lines = (count: number, word: string) => Array.from({ length: count }, (_, at) => `${word}${at}\n`).join("");
const different = { name: "stock", owner: "acc-ana", before: lines(30_000, "a"), after: lines(30_000, "b") };
const small = { name: "stock", owner: "acc-ana", before: "a\nb\n", after: "a\nc\n" };
const patch = "--- a/stock\n+++ b/stock\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n";

describe("the difference of two schemas", () => {
  it("the difference of two schemas is a patch, empty where there is none", () => {
    expect(patchOf(small)).toBe(patch);
    expect(patchOf({ ...small, after: small.before })).toBe("");
  });

  it("a difference may be long, but has an end", () => {
    expect(patchOf({ name: "stock", before: "", after: lines(mostEdits, "a") })?.length).toBeGreaterThan(mostEdits);
    expect(patchOf({ name: "stock", before: "", after: lines(mostEdits + 1, "a") })).toBeUndefined();
  });
});

describe("the comparison of schemas", () => {
  it("a comparison runs in a thread, and gives the patch", async () => {
    expect(await new SchemaComparer(realClock).compare(small, undefined)).toBe(patch);
  });

  it("schemas that are equal need no thread, however many comparisons wait", async () => {
    const clock = new VirtualClock();
    const comparer = new SchemaComparer(clock);
    const gone = new AbortController();
    const waiting = Array.from({ length: 4 }, () => comparer.compare(different, gone.signal));
    expect(await comparer.compare({ ...small, after: small.before }, undefined)).toBe("");
    gone.abort();
    await Promise.allSettled(waiting);
  });

  it.each([
    ["before", { ...small, before: 1 }],
    ["after", { ...small, after: null }],
    ["name", { ...small, name: 1 }],
  ])("a mistake in the thread is the caller's error, and no difference: no text for %s", async (_, comparison) => {
    const clock = new VirtualClock();
    const comparer = new SchemaComparer(clock);
    await expect(comparer.compare(JSON.parse(JSON.stringify(comparison)), undefined)).rejects.not.toBeInstanceOf(
      Refusal,
    );
    expect(clock.pending).toBe(0);
    expect(await comparer.compare(small, undefined)).toBe(patch);
  });

  it("a comparison that has ended leaves nothing on its caller's signal", async () => {
    const gone = new AbortController();
    expect(await new SchemaComparer(realClock).compare(small, gone.signal)).toBe(patch);
    expect(getEventListeners(gone.signal, "abort")).toEqual([]);
  });

  it("a comparison of 30,000 different lines is refused, and the loop is held no longer than by any other call", async () => {
    const delay = monitorEventLoopDelay({ resolution: 1 });
    delay.enable();
    const compared = new SchemaComparer(realClock).compare(different, undefined);
    await expect(compared).rejects.toMatchObject({
      status: 422,
      message: /differ in more than 5000 lines, or take too/,
    });
    delay.disable();
    // In milliseconds: on the loop it takes seconds.
    expect(delay.max / 1e6).toBeLessThan(1000);
  });

  it("a comparison that needs more memory than it has is refused, and is no mistake of ours", async () => {
    const { Worker } = workerThreads;
    workerThreads.Worker = class extends Worker {
      constructor(program: URL, options: WorkerOptions) {
        super(program, { ...options, resourceLimits: { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 1 } });
      }
    };
    syncBuiltinESMExports();
    const compared = new SchemaComparer(new VirtualClock()).compare(different, undefined);
    workerThreads.Worker = Worker;
    syncBuiltinESMExports();
    await expect(compared).rejects.toMatchObject({ status: 422 });
  });

  it("a comparison has no more than an eighth of the memory of a small container, in which a short one still ends", async () => {
    const mebibyte = 1024 ** 2;
    expect(memoryOf(512 * mebibyte)).toEqual({ maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 8 });
    expect(memoryOf(64 * 1024 * mebibyte)).toEqual({ maxOldGenerationSizeMb: 512, maxYoungGenerationSizeMb: 64 });
    const { Worker } = workerThreads;
    workerThreads.Worker = class extends Worker {
      constructor(program: URL, options: WorkerOptions) {
        super(program, { ...options, resourceLimits: memoryOf(256 * mebibyte) });
      }
    };
    syncBuiltinESMExports();
    const compared = new SchemaComparer(realClock).compare(small, undefined);
    workerThreads.Worker = Worker;
    syncBuiltinESMExports();
    expect(await compared).toBe(patch);
  });

  it("a comparison ends after its time, whatever it does then", async () => {
    const clock = new VirtualClock();
    const compared = new SchemaComparer(clock).compare(different, undefined);
    compared.catch(() => {});
    await expect.poll(() => clock.pending).toBe(1);
    await clock.advance(10_000);
    expect(clock.pending).toBe(0);
    await expect(compared).rejects.toMatchObject({ status: 422 });
  });

  it("a comparison ends when its caller leaves, and the next one begins", async () => {
    const clock = new VirtualClock();
    const comparer = new SchemaComparer(clock);
    const gone = new AbortController();
    const left = comparer.compare(different, gone.signal);
    left.catch(() => {});
    const next = comparer.compare(small, undefined);
    await expect.poll(() => clock.pending).toBe(1);
    expect(getEventListeners(gone.signal, "abort")).toHaveLength(1);
    gone.abort();
    expect(await next).toBe(patch);
    await expect(left).rejects.toMatchObject({ status: 422 });
  });

  test("a comparison whose caller left while it waited is not begun", async () => {
    const clock = new VirtualClock();
    const begun = vi.spyOn(clock, "after");
    const comparer = new SchemaComparer(clock);
    const [first, second] = [new AbortController(), new AbortController()];
    const running = comparer.compare(different, first.signal);
    const waiting = comparer.compare(different, second.signal);
    for (const one of [running, waiting]) one.catch(() => {});
    await expect.poll(() => clock.pending).toBe(1);
    second.abort();
    first.abort();
    await Promise.allSettled([running, waiting]);
    expect([begun.mock.calls.length, clock.pending]).toEqual([1, 0]);
  });

  it("owners take turns: a comparison does not wait for all of another owner's", async () => {
    const clock = new VirtualClock();
    const comparer = new SchemaComparer(clock);
    const gone = new AbortController();
    const long = Array.from({ length: 3 }, () => comparer.compare(different, gone.signal));
    const other = comparer.compare({ ...small, owner: "acc-bob" }, undefined);
    let ended = 0;
    for (const one of long) void one.catch(() => (ended += 1));
    for (let turn = 0; turn < 2; turn += 1) {
      await clock.advance(10_000);
      await expect.poll(() => ended).toBe(turn + 1);
    }
    expect(await other).toBe(patch);
    expect(ended).toBe(2);
    gone.abort();
    await Promise.allSettled(long);
  });

  test("comparisons run one after another, four of an owner at most, and those of others have room beside them", async () => {
    const clock = new VirtualClock();
    const comparer = new SchemaComparer(clock);
    const gone = new AbortController();
    const all = Array.from({ length: 5 }, () => comparer.compare(different, gone.signal));
    await expect(all.at(-1)).rejects.toMatchObject({ status: 429, headers: { "retry-after": "1" } });
    all.push(comparer.compare({ ...different, owner: "acc-eve" }, gone.signal));
    await expect.poll(() => clock.pending).toBe(1);
    gone.abort();
    const ends = await Promise.allSettled(all);
    const reasons = ends.map((end) => (end.status === "rejected" ? Object(end.reason).status : end.value));
    expect(reasons).toEqual([422, 422, 422, 422, 429, 422]);
    expect(await comparer.compare(small, undefined)).toBe(patch);
  });
});
