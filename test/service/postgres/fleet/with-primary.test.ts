import { expect, it } from "vitest";
import { withPrimary } from "../../../../src/service/postgres/fleet/with-primary.ts";
import { VirtualClock } from "../../../support/virtual-clock.ts";

/** Starts a standby that is ready when the test says so; answers how often clients of its primary were looked at. */
function starting() {
  const [clock, ready] = [new VirtualClock(), Promise.withResolvers<void>()];
  let looks = 0;
  const sessions = {
    open: () => {
      looks += 1;
      return Promise.reject(new Error("no place"));
    },
  };
  const ports = Object.assign(JSON.parse("{}"), { clock, sessions });
  const started = withPrimary(ports, JSON.parse('{ "config": {} }'), () => ready.promise);
  return { clock, ready, started, looks: () => looks };
}

it("clients of a primary are left alone once its standby has started, or has failed to", async () => {
  const one = starting();
  one.ready.resolve();
  await one.started;
  expect(one.clock.pending).toBe(0);
  const other = starting();
  other.ready.reject(new Error("no disk"));
  await expect(other.started).rejects.toThrow("no disk");
  expect([other.clock.pending, one.looks(), other.looks()]).toEqual([0, 0, 0]);
});

it("clients that keep a standby waiting are looked for after ten seconds, and its start goes on where that fails", async () => {
  const { clock, ready, started, looks } = starting();
  await clock.advance(9999);
  expect(looks()).toBe(0);
  await clock.advance(1);
  expect(looks()).toBe(1);
  ready.resolve();
  await started;
});
