import { describe, expect, it } from "vitest";
import { ServiceTime } from "../../../src/operator/project/service-time.ts";

const at = Date.parse("2026-11-25T12:00:00Z");

/** This machine, whose clocks a test sets. */
class Machine {
  wall = at;
  monotonicMs = 0;
  readonly time = new ServiceTime({
    now: () => this.wall,
    monotonic: () => this.monotonicMs,
    after: () => () => {},
  });

  passes(ms: number): void {
    this.wall += ms;
    this.monotonicMs += ms;
  }

  /** An answer comes now whose request took so long; the service wrote it so long ago, by a clock so far ahead. */
  answered({ tookMs, writtenMsAgo, aheadMs = 0 }: { tookMs: number; writtenMsAgo: number; aheadMs?: number }): boolean {
    const written = this.wall + aheadMs - writtenMsAgo;
    return this.time.shown(Math.floor(written / 1000) * 1000, tookMs);
  }

  /** By how much the service's clock is taken to be ahead of this machine's. */
  get aheadMs(): number {
    return this.time.now() - this.wall;
  }
}

describe("the time that a request takes is allowed for", () => {
  it.each([
    { tookMs: 0, writtenMsAgo: 0 },
    { tookMs: 3000, writtenMsAgo: 3000 },
    { tookMs: 30_000, writtenMsAgo: 0 },
    { tookMs: 30_000, writtenMsAgo: 15_000 },
    { tookMs: 30_000, writtenMsAgo: 30_000 },
    { tookMs: 600_000, writtenMsAgo: 600_000 },
  ])("equal clocks stay equal, though an answer takes $tookMs ms and was written $writtenMsAgo ms ago", (answer) => {
    const machine = new Machine();
    for (const offset of [0, 1, 499, 999]) {
      machine.passes(60_000 + offset);
      expect(machine.answered(answer)).toBe(false);
      expect(machine.aheadMs).toBe(0);
    }
  });

  it.each([
    { tookMs: 0, atMostMs: 500 },
    { tookMs: 4000, atMostMs: 2500 },
    { tookMs: 30_000, atMostMs: 15_500 },
  ])("a clock an hour ahead is known to half of the $tookMs ms of a request, whenever it was written", (bound) => {
    const { tookMs, atMostMs } = bound;
    for (const writtenMsAgo of [0, tookMs / 3, tookMs]) {
      for (const aheadMs of [3_600_000, -3_600_000]) {
        const machine = new Machine();
        machine.answered({ tookMs, writtenMsAgo, aheadMs });
        expect(Math.abs(machine.aheadMs - aheadMs)).toBeLessThanOrEqual(atMostMs);
      }
    }
  });

  it("a slow answer does not move a clock that quick ones have shown", () => {
    const machine = new Machine();
    machine.answered({ tookMs: 10, writtenMsAgo: 5, aheadMs: 3_600_000 });
    const known = machine.aheadMs;
    for (const writtenMsAgo of [0, 10_000, 20_000]) {
      machine.passes(60_000);
      expect(machine.answered({ tookMs: 20_000, writtenMsAgo, aheadMs: 3_600_000 })).toBe(false);
      expect(machine.aheadMs).toBe(known);
    }
  });

  it("a quick answer puts right what a slow one left open", () => {
    const machine = new Machine();
    machine.answered({ tookMs: 30_000, writtenMsAgo: 30_000, aheadMs: 3_600_000 });
    machine.passes(1000);
    machine.answered({ tookMs: 20, writtenMsAgo: 10, aheadMs: 3_600_000 });
    expect(Math.abs(machine.aheadMs - 3_600_000)).toBeLessThanOrEqual(2000);
  });

  it.each([
    { laterMs: 2000, isNews: true },
    { laterMs: 1000, isNews: false },
    { laterMs: -2000, isNews: true, tookMs: 0 },
    { laterMs: -11_000, isNews: false, tookMs: 10_000 },
    { laterMs: -13_000, isNews: true, tookMs: 10_000 },
    { laterMs: 3000, isNews: true, tookMs: 10_000 },
  ])("a Date $laterMs ms apart after $tookMs ms is another time: $isNews", ({ laterMs, isNews, tookMs = 0 }) => {
    const machine = new Machine();
    machine.time.shown(at, 0);
    machine.time.shown(at + laterMs - 500, tookMs);
    expect(machine.aheadMs !== 0).toBe(isNews);
  });
});

describe("clocks that jump", () => {
  it.each([3_600_000, -3_600_000, 86_400_000])(
    "a service whose clock is set by %d ms is followed with its next answer, which says so",
    (aheadMs) => {
      const machine = new Machine();
      machine.answered({ tookMs: 20, writtenMsAgo: 10 });
      machine.passes(5000);
      expect(machine.answered({ tookMs: 20, writtenMsAgo: 10, aheadMs })).toBe(true);
      expect(Math.abs(machine.aheadMs - aheadMs)).toBeLessThanOrEqual(1000);
      machine.passes(5000);
      expect(machine.answered({ tookMs: 20, writtenMsAgo: 10, aheadMs })).toBe(false);
    },
  );

  it.each([3_600_000, -3_600_000, 10_000, -10_000])(
    "this machine's clock, set by %d ms, changes nothing of the service's once an answer has shown it",
    (jumpMs) => {
      const machine = new Machine();
      machine.answered({ tookMs: 20, writtenMsAgo: 10 });
      const before = machine.time.now();
      machine.wall += jumpMs;
      expect(machine.time.isKnown).toBe(false);
      machine.monotonicMs += 20;
      machine.wall += 20;
      expect(machine.answered({ tookMs: 20, writtenMsAgo: 10, aheadMs: -jumpMs })).toBe(false);
      expect(machine.time.isKnown).toBe(true);
      expect(Math.abs(machine.time.now() - before)).toBeLessThanOrEqual(2000);
    },
  );

  it("a machine that slept knows the time with the next answer, which says that it slept", () => {
    const machine = new Machine();
    machine.answered({ tookMs: 20, writtenMsAgo: 10 });
    machine.wall += 600_000;
    expect(machine.time.isKnown).toBe(false);
    expect(machine.answered({ tookMs: 20, writtenMsAgo: 10 })).toBe(true);
    expect(machine.time.isKnown).toBe(true);
    expect(machine.aheadMs).toBe(0);
  });
});
