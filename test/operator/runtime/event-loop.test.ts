import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { Turns, turnsOf } from "../../../src/operator/runtime/event-loop.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";
import { workClock } from "./work-clock.ts";

test("those who compute for long let timers and sockets come in between, whichever of them it is", async () => {
  const { clock, timers, work } = workClock();
  const turns = new Turns(clock);
  const done: string[] = [];
  const compute = async (name: string) => {
    for (let step = 0; step < 10; step += 1) {
      await turns.next(new AbortController().signal);
      work(1);
      done.push(name);
    }
  };
  const all = Promise.all(["a", "b", "c"].map(compute));
  const perTask: number[] = [];
  for (await setImmediate(); timers.length > 0; ) {
    const before = done.length;
    for (const run of timers.splice(0)) run();
    await setImmediate();
    perTask.push(done.length - before);
  }
  await all;
  expect(done.toSorted().join("")).toBe("aaaaaaaaaabbbbbbbbbbcccccccccc");
  // Five steps fit a slice; those who were let on before its end take one more.
  expect(Math.max(...perTask)).toBe(7);
});

test("who is called off while waiting for a turn does not go on", async () => {
  const { clock, timers } = workClock();
  const stop = new AbortController();
  const waits = new Turns(clock).next(stop.signal);
  stop.abort(new Error("stopped"));
  timers.shift()?.();
  await expect(waits).rejects.toThrow("stopped");
});

test("in each turn somebody goes on, also where a look at the clock takes as long as a slice", async () => {
  const clock = new VirtualClock();
  clock.readsTake(5);
  const turns = new Turns(clock);
  const done: string[] = [];
  const { signal } = new AbortController();
  for (const name of ["a", "b", "c"]) void turns.next(signal).then(() => done.push(name));
  await clock.advance(1000);
  expect(done.toSorted()).toEqual(["a", "b", "c"]);
});

test("all parts of a process take turns with each other", () => {
  const { clock } = workClock();
  expect(turnsOf(clock)).toBe(turnsOf(clock));
  expect(turnsOf(workClock().clock)).not.toBe(turnsOf(clock));
});
