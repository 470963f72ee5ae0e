import { expect, it } from "vitest";
import { keepClear } from "../../src/service/keep.ts";

it("what was deleted is cleared in turns with a short rest between, also after the machine's clock is set back, until the end", () => {
  const hour = 3_600_000;
  let now = hour;
  let isLeft = true;
  let clears = 0;
  let changed = () => {};
  let isFollowed = true;
  let timer: { ms: number; act: () => void } | undefined;
  const after = (ms: number, act: () => void) => {
    timer = { ms, act };
    return () => {
      timer = undefined;
    };
  };
  const service = Object.assign(JSON.parse("{}"), {
    context: { clock: { now: () => now, after }, store: { removed: { any: () => isLeft } } },
    clear: () => (clears += 1),
    onChange: (follower: () => void) => {
      changed = follower;
      return () => {
        isFollowed = false;
      };
    },
  });
  const stop = keepClear(service);
  expect(timer?.ms).toBe(0);
  timer?.act();
  expect([clears, timer?.ms]).toEqual([1, 25]);
  now -= hour;
  changed();
  expect(timer?.ms).toBe(25);
  isLeft = false;
  timer?.act();
  expect([clears, timer]).toEqual([2, undefined]);
  isLeft = true;
  changed();
  expect([isFollowed, timer?.ms]).toEqual([true, 25]);
  stop();
  expect([isFollowed, timer]).toEqual([false, undefined]);
});

it("what fails after a change of its own is reported, and tried again by one timer alone, after a second", () => {
  const timers = new Set<{ ms: number; act: () => void }>();
  const after = (ms: number, act: () => void) => {
    const timer = { ms, act };
    timers.add(timer);
    return () => timers.delete(timer);
  };
  let changed = () => {};
  const reported: unknown[] = [];
  const full = new Error("the disk is full");
  const service = Object.assign(JSON.parse("{}"), {
    context: { clock: { now: () => 0, after }, store: { removed: { any: () => true } } },
    clear: () => {
      changed();
      throw full;
    },
    internalError: (error: unknown) => reported.push(error),
    onChange: (follower: () => void) => {
      changed = follower;
      return () => {};
    },
  });
  keepClear(service);
  for (const tries of [1, 2]) {
    for (const timer of timers) {
      timers.delete(timer);
      timer.act();
      break;
    }
    expect([...timers].map(({ ms }) => ms)).toEqual([1000]);
    expect([reported.length, new Set(reported)]).toEqual([tries, new Set([full])]);
  }
});
