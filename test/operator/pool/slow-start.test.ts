import { expect, test } from "vitest";
import { SlowStart } from "../../../src/operator/pool/slow-start.ts";

const numbers = (count: number) => Array.from({ length: count }, (_, nth) => nth);

/** A run on a clock that a test sets; the numbers in `refused` are refused. */
function starting(refused: readonly number[] = []) {
  const start = new SlowStart();
  const batches: number[] = [];
  const clock = { now: 1000, wanted: true };
  const run = (count: number, { generation = 1 } = {}) =>
    start.run(generation, numbers(count), {
      now: () => clock.now,
      isWanted: () => Promise.resolve(clock.wanted),
      execute: async (batch) => {
        batches.push(batch.length);
        const first = batch.find((number) => refused.includes(number));
        return first === undefined ? undefined : `refused ${first}`;
      },
    });
  return { start, run, batches, clock };
}

test("replicas are created in batches of 1, 2, 4 and so on, with a pause after each from 4 on", async () => {
  const { start, run, batches, clock } = starting();
  expect(await run(40)).toEqual({ refusal: undefined, waitMs: 500 });
  expect(batches).toEqual([1, 2, 4]);
  clock.now += 499;
  expect(start.waitMs(1, clock.now)).toBe(1);
  expect(await run(33)).toEqual({ refusal: undefined, waitMs: 1 });
  clock.now += 1;
  expect(await run(33)).toEqual({ refusal: undefined, waitMs: 500 });
  clock.now += 500;
  expect(await run(25)).toEqual({ refusal: undefined, waitMs: 500 });
  expect(batches).toEqual([1, 2, 4, 8, 16]);
  clock.now += 500;
  expect(await run(9)).toEqual({ refusal: undefined });
  expect(batches).toEqual([1, 2, 4, 8, 16, 9]);
  expect(start.waitMs(1, clock.now)).toBe(0);
});

test("another generation of a pool starts with one, without the pause of the former", async () => {
  const { run, batches } = starting();
  await run(40);
  await run(3, { generation: 2 });
  expect(batches).toEqual([1, 2, 4, 1, 2]);
});

test("the first refusal is told, and after a refusal the next batch is of one", async () => {
  const { run, batches } = starting([1, 6]);
  expect(await run(7)).toEqual({ refusal: "refused 1" });
  expect(batches).toEqual([1, 2, 1, 2, 1]);
});

test("two refused batches in a row end a run", async () => {
  const { run, batches } = starting([1, 3]);
  expect(await run(7)).toEqual({ refusal: "refused 1" });
  expect(batches).toEqual([1, 2, 1]);
});

test("a batch between two that are refused keeps a run going", async () => {
  const { run, batches } = starting([0, 2]);
  expect(await run(7)).toEqual({ refusal: "refused 0" });
  expect(batches).toEqual([1, 1, 2, 1, 2]);
});

test("a run ends where its plan is no longer wanted, but its first batch is sent", async () => {
  const { run, batches, clock } = starting();
  clock.wanted = false;
  expect(await run(7)).toEqual({ refusal: undefined });
  expect(batches).toEqual([1]);
});
