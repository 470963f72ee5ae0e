import { describe, expect, it } from "vitest";
import { ServiceTime } from "../../../src/operator/project/service-time.ts";

const at = Date.parse("2026-11-25T12:00:00Z");
const clock = { now: () => at, monotonic: () => 0, after: () => () => {} };

describe("the service's clock", () => {
  it("the service's clock is this machine's until an answer shows another", () => {
    const time = new ServiceTime(clock);
    expect(time.now()).toBe(at);
    time.shown(at - 1000);
    expect(time.now()).toBe(at);
  });

  it.each([-3_600_000, 90_000])("the service's clock is ahead by what the Date of an answer shows: %d ms", (ms) => {
    const time = new ServiceTime(clock);
    time.shown(at + ms);
    expect(time.now()).toBe(at + ms + 500);
    time.shown(at + ms + 1000);
    expect(time.now()).toBe(at + ms + 500);
    time.shown(at);
    expect(time.now()).toBe(at);
  });

  it("the service's clock is not known once this machine's was set, or stood still, until an answer shows it", () => {
    const machine = { ...clock, wall: at, monotonicMs: 0 };
    const time = new ServiceTime({ ...clock, now: () => machine.wall, monotonic: () => machine.monotonicMs });
    machine.wall += 3_600_000;
    expect(time.isKnown).toBe(true);
    time.shown(at);
    expect(time.isKnown).toBe(true);
    expect(time.now()).toBe(at + 500);
    machine.wall -= 3_600_000;
    expect(time.isKnown).toBe(false);
    time.shown(at);
    expect(time.isKnown).toBe(true);
    expect(time.now()).toBe(at);
    machine.wall += 60_000;
    machine.monotonicMs += 59_000;
    expect(time.isKnown).toBe(true);
    machine.monotonicMs += 60_000;
    expect(time.isKnown).toBe(false);
  });
});
