import { describe, expect, it } from "vitest";
import { asRecord } from "../../src/operator/objects/record.ts";
import { SmallWorld } from "./support/small-world.ts";

// The clock begins on Thursday, 2026-01-01, at midnight UTC. Operator and service have one wall clock.
const place = { projectID: "shop", branchID: "br-0-a", scaleToZero: { enabled: false } };
const office = { name: "office", from: "08:00", to: "19:00", computeUnits: { min: 4, max: 8 } };
const large = { autoscaling_limit_min_cu: 4, autoscaling_limit_max_cu: 8 };
const small = { autoscaling_limit_min_cu: 1, autoscaling_limit_max_cu: 2 };
const hours = 3_600_000;

const patches = (world: SmallWorld): unknown[] =>
  world.host.calls.flatMap(({ method, body }) => (method === "PATCH" ? [asRecord(body)["endpoint"]] : []));

describe("a wall clock that is set", () => {
  it("a clock that is set over the beginning of an entry is followed within a refresh", async () => {
    await using world = new SmallWorld([place.branchID], 1);
    world.declare(0, { ...place, computeUnits: { min: 1, max: 2 }, schedule: [office] });
    await world.settle(1);
    await world.clock.advance(hours);
    world.clock.stepWall(9 * hours);
    await world.clock.advance(35_000);
    expect(patches(world)).toEqual([large]);
    world.clock.stepWall(-5 * hours);
    await world.clock.advance(35_000);
    expect(patches(world)).toEqual([large, small]);
    await world.clock.advance(3 * hours);
    expect(patches(world)).toEqual([large, small, large]);
  });

  it("a machine that sleeps over the opening of a window sends what waits within a refresh", async () => {
    await using world = new SmallWorld([place.branchID], 1);
    const disruption = { windows: [{ from: "02:00", to: "20:00" }] };
    world.declare(0, { ...place, computeUnits: { min: 1, max: 2 }, disruption });
    await world.settle(1);
    world.edit(0, { computeUnits: { min: 4, max: 8 } });
    await world.clock.advance(60_000);
    expect(patches(world)).toEqual([]);
    world.clock.stepWall(3 * hours);
    await world.clock.advance(35_000);
    expect(patches(world)).toEqual([large]);
  });

  it("a window that a clock jumps out of holds what a list from before would send", async () => {
    await using world = new SmallWorld([place.branchID], 1);
    const disruption = { windows: [{ from: "00:00", to: "02:00" }] };
    world.declare(0, { ...place, computeUnits: { min: 1, max: 2 }, disruption });
    await world.settle(1);
    await world.clock.advance(60_000);
    world.clock.stepWall(4 * hours);
    world.edit(0, { computeUnits: { min: 4, max: 8 } });
    await world.clock.advance(120_000);
    expect(patches(world)).toEqual([]);
  });
});
