import * as fc from "fast-check";
import { expect, test } from "vitest";
import { DueKeys } from "../../../src/operator/runtime/due-keys.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";

function setUp() {
  const clock = new VirtualClock();
  const fell: [string, number][] = [];
  const keys = new DueKeys(clock, (key) => fell.push([key, clock.monotonic()]));
  return { clock, keys, fell };
}

test("each key falls due at its time, and keys of one time in the order in which they were set", async () => {
  const { clock, keys, fell } = setUp();
  keys.set("late", 300);
  keys.set("first", 100);
  keys.set("second", 100);
  keys.set("between", 200);
  await clock.advance(1000);
  expect(fell).toEqual([
    ["first", 100],
    ["second", 100],
    ["between", 200],
    ["late", 300],
  ]);
});

test("a thousand keys take one timer, and none is left once they are gone", async () => {
  const { clock, keys } = setUp();
  for (let n = 0; n < 1000; n += 1) keys.set(`key-${n}`, 1000 + ((n * 7919) % 1000));
  expect(clock.pending).toBe(1);
  for (let n = 0; n < 500; n += 1) keys.delete(`key-${n}`);
  expect(clock.pending).toBe(1);
  await clock.advance(1500);
  expect(clock.pending).toBe(1);
  keys.clear();
  expect(clock.pending).toBe(0);
});

test("a timer that is early counts as due, and the next key keeps its own time", () => {
  const timers: { ms: number; task: () => void }[] = [];
  const fell: string[] = [];
  const clock = {
    now: () => 0,
    monotonic: () => 99.5,
    after: (ms: number, task: () => void) => {
      timers.push({ ms, task });
      return () => {};
    },
  };
  const keys = new DueKeys(clock, (key) => fell.push(key));
  keys.set("a", 100);
  keys.set("b", 100.25);
  timers[0]?.task();
  expect(fell).toEqual(["a"]);
  expect(timers.map(({ ms }) => ms)).toEqual([0.5, 0.75]);
});

test("a key whose time is past falls due at once, and not by a time below zero, of which Node warns", () => {
  const waits: number[] = [];
  const after = (ms: number) => {
    waits.push(ms);
    return () => {};
  };
  const keys = new DueKeys({ now: () => 0, monotonic: () => 100, after }, () => {});
  keys.set("past", 40);
  expect(waits).toEqual([0]);
});

test("a key that is set or deleted while others fall due is taken so", async () => {
  const clock = new VirtualClock();
  const fell: string[] = [];
  const keys: DueKeys = new DueKeys(clock, (key) => {
    fell.push(`${key} ${clock.monotonic()}`);
    if (key !== "a" || fell.length > 1) return;
    keys.delete("b");
    keys.set("a", 100);
    keys.set("c", 50);
  });
  keys.set("a", 50);
  keys.set("b", 50);
  await clock.advance(1000);
  expect(fell).toEqual(["a 50", "c 50", "a 100"]);
});

test("after any changes, each key falls due once, at the time that it was last set to", async () => {
  const key = fc.constantFrom("a", "b", "c", "d", "e", "f");
  const change = fc.oneof(
    fc.record({ kind: fc.constant("set" as const), key, ms: fc.nat(40) }),
    fc.record({ kind: fc.constant("delete" as const), key }),
    fc.record({ kind: fc.constant("wait" as const), ms: fc.nat(20) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(change, { maxLength: 40 }), async (changes) => {
      const { clock, keys, fell } = setUp();
      const expected = new Map<string, number>();
      const due: string[] = [];
      const wait = async (ms: number) => {
        await clock.advance(ms);
        for (const [name, at] of expected) {
          if (at > clock.monotonic()) continue;
          due.push(`${name} ${at}`);
          expected.delete(name);
        }
      };
      for (const step of changes) {
        if (step.kind === "wait") await wait(step.ms);
        else if (step.kind === "delete") {
          keys.delete(step.key);
          expected.delete(step.key);
        } else {
          keys.set(step.key, clock.monotonic() + step.ms);
          expected.set(step.key, clock.monotonic() + step.ms);
        }
      }
      await wait(1000);
      expect(fell.map(([name, at]) => `${name} ${at}`).toSorted()).toEqual(due.toSorted());
      expect(clock.pending).toBe(0);
    }),
  );
});
