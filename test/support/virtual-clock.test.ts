import { describe, expect, test } from "vitest";
import { sleep } from "../../src/operator/runtime/clock.ts";
import { seededRandom } from "../simulation/random.ts";
import { VirtualClock } from "./virtual-clock.ts";

const forever = new AbortController().signal;

describe("a virtual clock", () => {
  test("runs tasks in the order of their time, those of one time as they were scheduled", async () => {
    const clock = new VirtualClock();
    const ran: string[] = [];
    const random = seededRandom(3);
    const due = Array.from({ length: 500 }, () => Math.floor(random() * 50));
    for (const [index, ms] of due.entries()) clock.after(ms, () => ran.push(`${ms} ${index}`));
    await clock.advance(100);
    const expected = due
      .map((ms, index) => ({ ms, index }))
      .toSorted((a, b) => a.ms - b.ms || a.index - b.index)
      .map(({ ms, index }) => `${ms} ${index}`);
    expect(ran).toEqual(expected);
  });

  test("lets all that a task set off come to rest before the next one of the same time", async () => {
    const clock = new VirtualClock();
    const log: string[] = [];
    const work = async (name: string) => {
      await sleep(clock, 10, forever);
      for (let n = 0; n < 20; n += 1) await Promise.resolve();
      log.push(name);
    };
    void work("first");
    clock.after(10, () => log.push("second"));
    await clock.advance(10);
    expect(log).toEqual(["first", "second"]);
  });

  test("shows each task its own time, and runs what tasks schedule on the way", async () => {
    const clock = new VirtualClock({ startMs: 1000 });
    const seen: [number, number][] = [];
    const tick = () => {
      seen.push([clock.now(), clock.monotonic()]);
      clock.after(10, tick);
    };
    clock.after(10, tick);
    await clock.advance(35);
    expect(seen).toEqual([
      [1010, 10],
      [1020, 20],
      [1030, 30],
    ]);
    expect([clock.now(), clock.monotonic()]).toEqual([1035, 35]);
  });

  test("never runs what was called off, and forgets it", async () => {
    const clock = new VirtualClock();
    const cancels = Array.from({ length: 1000 }, (_, n) => clock.after(n, () => expect.unreachable()));
    for (const cancel of cancels) cancel();
    cancels[0]?.();
    expect(clock.pending).toBe(0);
    await clock.advance(2000);
  });

  test("steps and sleeps move wall time alone", async () => {
    const clock = new VirtualClock({ startMs: 0 });
    clock.stepWall(-500);
    clock.suspend(2000);
    expect([clock.now(), clock.monotonic()]).toEqual([1500, 0]);
    await clock.advance(1);
    expect([clock.now(), clock.monotonic()]).toEqual([1501, 1]);
  });

  test("advances until something holds and says how long it took, or that it never did", async () => {
    const clock = new VirtualClock();
    let ready = false;
    clock.after(70, () => {
      ready = true;
    });
    expect(await clock.advanceUntil(() => ready, 1000)).toBe(70);
    await expect(clock.advanceUntil(() => false, 1000)).rejects.toThrow("still not so after 1000 ms of virtual time");
  });
});
