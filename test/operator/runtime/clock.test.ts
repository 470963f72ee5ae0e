import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { sleep, unlessAborted } from "../../../src/operator/runtime/clock.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";

test("a sleep ends after its time and leaves no listener on the signal", async () => {
  const clock = new VirtualClock();
  const stop = new AbortController();
  let ended = false;
  const slept = (async () => {
    await sleep(clock, 100, stop.signal);
    ended = true;
  })();
  await clock.advance(99);
  expect([ended, getEventListeners(stop.signal, "abort").length]).toEqual([false, 1]);
  await clock.advance(1);
  await slept;
  expect(getEventListeners(stop.signal, "abort")).toEqual([]);
});

test("a sleep that is aborted rejects at once with the reason and leaves no timer", async () => {
  const clock = new VirtualClock();
  const stop = new AbortController();
  const slept = sleep(clock, 100, stop.signal);
  stop.abort(new Error("no more"));
  await expect(slept).rejects.toThrow("no more");
  expect(clock.pending).toBe(0);
});

test("a sleep with an aborted signal does not start", async () => {
  const clock = new VirtualClock();
  const signal = AbortSignal.abort(new Error("before"));
  await expect(sleep(clock, 100, signal)).rejects.toThrow("before");
  expect([clock.pending, getEventListeners(signal, "abort").length]).toEqual([0, 0]);
});

test("a promise is not awaited where the signal has aborted before", async () => {
  const signal = AbortSignal.abort(new Error("before"));
  await expect(unlessAborted(Promise.resolve(1), signal)).rejects.toThrow("before");
});

test("a promise leaves no listener on the signal, and rejects with its reason at once", async () => {
  const stop = new AbortController();
  expect(await unlessAborted(Promise.resolve(1), stop.signal)).toBe(1);
  expect(getEventListeners(stop.signal, "abort")).toEqual([]);
  const never = unlessAborted(new Promise(() => {}), stop.signal);
  stop.abort(new Error("no more"));
  await expect(never).rejects.toThrow("no more");
});
