import { expect, it } from "vitest";
import { SmallWorld } from "./support/small-world.ts";

// The clock begins on Thursday, 2026-01-01, at midnight UTC.
const place = { projectID: "shop", branchID: "br-0-a", scaleToZero: { enabled: false } };
const disruption = { windows: [{ days: ["Thu" as const], from: "02:00", to: "03:00" }] };
const small = { computeUnits: { min: 1, max: 2 } };
const large = { computeUnits: { min: 4, max: 8 } };

it.each([
  ["Correct", "WaitingForWindow", { min: 4, max: 8 }],
  ["Report", "Drifted", { min: 1, max: 2 }],
] as const)(
  "a change that waited with driftPolicy %s is only drift while the Compute observes, and then as any other: %s",
  async (driftPolicy, reason, computeUnits) => {
    await using world = new SmallWorld([place.branchID], 1);
    world.declare(0, { ...place, disruption, driftPolicy, ...small });
    await world.settle(1);
    world.edit(0, large);
    await world.clock.advance(60_000);
    const counted = async () => /changes_waiting\{namespace="default"\} (\d)/.exec(await world.metrics())?.[1];
    expect(world.compute(0).status.waiting).toHaveLength(2);
    expect(await counted()).toBe("1");
    world.edit(0, { managementPolicy: "Observe" });
    await world.clock.advance(60_000);
    const { status } = world.compute(0);
    expect([status.conditions?.[0]?.reason, status.drift?.length]).toEqual(["Observed", 2]);
    expect([status.waiting, status.nextWindow, await counted()]).toEqual([undefined, undefined, "0"]);
    world.edit(0, { managementPolicy: "Manage" });
    await world.clock.advance(60_000);
    expect(world.compute(0).status.conditions?.[0]?.reason).toBe(reason);
    await world.clock.advance(3 * 3_600_000);
    expect(world.compute(0).status.computeUnits).toEqual(computeUnits);
  },
);
