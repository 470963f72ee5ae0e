import { describe, expect, it } from "vitest";
import { asRecord } from "../../src/operator/objects/record.ts";
import { SmallWorld } from "./support/small-world.ts";

// The clock begins on Thursday, 2026-01-01, at midnight UTC.
const place = { projectID: "shop", branchID: "br-0-a", scaleToZero: { enabled: false } };
const windows = [{ days: ["Thu"], from: "02:00", to: "03:00" }];
const small = { computeUnits: { min: 1, max: 2 }, passwordlessAccess: true };
const large = { computeUnits: { min: 4, max: 8 } };
const largeSent = { autoscaling_limit_min_cu: 4, autoscaling_limit_max_cu: 8 };
const hours = 3_600_000;

/** What each PATCH of the operator has sent. */
const patches = (world: SmallWorld): unknown[] =>
  world.host.calls.flatMap(({ method, body }) => (method === "PATCH" ? [asRecord(body)["endpoint"]] : []));
const conditionsOf = (world: SmallWorld) =>
  Object.fromEntries((world.compute(0).status.conditions ?? []).map(({ type, status }) => [type, status]));
const reasonOf = (world: SmallWorld) => world.compute(0).status.conditions?.[0]?.reason;

describe("a change that cuts connections", () => {
  it("a change that cuts connections waits for a window in which it is sent, and the other fields of the same edit are sent at once", async () => {
    await using world = new SmallWorld([place.branchID], 1);
    world.declare(0, { ...place, ...small, disruption: { windows } });
    await world.settle(1);
    world.edit(0, { ...large, passwordlessAccess: false });
    await world.clock.advance(60_000);
    expect(patches(world)).toEqual([{ passwordless_access: false }]);
    const { status, metadata } = world.compute(0);
    expect(status).toMatchObject({
      waiting: [
        { field: "computeUnits.min", ours: "4" },
        { field: "computeUnits.max", ours: "8" },
      ],
      nextWindow: "2026-01-01T02:00:00Z",
      appliedGeneration: metadata.generation,
      observedGeneration: metadata.generation,
    });
    expect([reasonOf(world), conditionsOf(world)]).toEqual(["WaitingForWindow", { Ready: "True", Synced: "False" }]);
    expect(status.conditions?.[0]?.message).toContain("computeUnits.min (ours 4), computeUnits.max (ours 8)");
    const waiting = 'compute_operator_changes_waiting{namespace="default"}';
    expect(await world.metrics()).toContain(`${waiting} 1`);
    await world.clock.advance(2 * hours - world.clock.monotonic());
    expect(patches(world)).toHaveLength(1);
    await world.clock.advance(60_000);
    expect(patches(world)).toEqual([{ passwordless_access: false }, largeSent]);
    expect([reasonOf(world), conditionsOf(world)]).toEqual(["Active", { Ready: "True", Synced: "True" }]);
    expect(world.compute(0).status.waiting).toBeUndefined();
    expect(world.compute(0).status.nextWindow).toBeUndefined();
    expect(await world.metrics()).toContain(`${waiting} 0`);
  });

  it("a change that cuts connections is sent at once, in one PATCH with all else, to a compute that is suspended", async () => {
    await using world = new SmallWorld([place.branchID], 1);
    world.declare(0, { ...place, ...small, scaleToZero: { enabled: true }, disruption: { windows } });
    await world.settle(1);
    await world.clock.advance(600_000);
    expect(reasonOf(world)).toBe("Idle");
    world.edit(0, { ...large, passwordlessAccess: false });
    await world.clock.advance(5000);
    expect(patches(world)).toEqual([{ ...largeSent, passwordless_access: false }]);
  });

  it("a change that cuts connections is sent once the compute is suspended, without an edit", async () => {
    await using world = new SmallWorld([place.branchID], 1);
    world.declare(0, { ...place, ...small, disruption: { windows } });
    await world.settle(1);
    world.edit(0, large);
    await world.clock.advance(300_000);
    expect(patches(world)).toEqual([]);
    const { endpointID } = world.compute(0).status;
    world.console("POST", `/projects/shop/endpoints/${endpointID}/suspend`);
    await world.clock.advance(60_000);
    expect(patches(world)).toEqual([largeSent]);
  });

  it("a change that cuts connections is sent until the time that the annotation disruptionUntil gives, and not after", async () => {
    await using world = new SmallWorld([place.branchID], 1);
    world.declare(0, { ...place, ...small, disruption: { windows } });
    await world.settle(1);
    world.annotate(0, "disruptionUntil", "2026-01-01T00:30:00Z");
    world.edit(0, large);
    await world.clock.advance(10_000);
    expect(patches(world)).toEqual([largeSent]);
    await world.clock.advance(hours);
    world.edit(0, small);
    await world.clock.advance(60_000);
    expect(patches(world)).toHaveLength(1);
    world.annotate(0, "disruptionUntil", "2026-01-01T03:30:00+01:00");
    await world.clock.advance(10_000);
    expect(patches(world)).toHaveLength(2);
  });

  it("a change that cuts connections waits for the windows of the connection where the Compute names none, and not with anyTime", async () => {
    await using world = new SmallWorld([place.branchID, "br-0-b"], 1);
    const path = "/apis/compute-operator.dev/v1alpha1/namespaces/default/serviceconnections/default";
    const connection = world.send("GET", path);
    world.send("PUT", path, { ...connection, spec: { ...connection.spec, disruption: { windows } } });
    world.declare(0, { ...place, ...small });
    world.declare(1, { ...place, branchID: "br-0-b", ...small, disruption: { anyTime: true } });
    await world.settle(2);
    world.edit(0, large);
    world.edit(1, large);
    await world.clock.advance(60_000);
    expect(patches(world)).toEqual([largeSent]);
    expect(reasonOf(world)).toBe("WaitingForWindow");
    const now = world.send("GET", path);
    world.send("PUT", path, { ...now, spec: { ...now.spec, disruption: { anyTime: true } } });
    await world.clock.advance(60_000);
    expect(patches(world)).toEqual([largeSent, largeSent]);
  });

  it("a change that cuts connections waits as a correction of drift too, also after a restart of the operator", async () => {
    await using world = new SmallWorld([place.branchID], 1);
    world.declare(0, { ...place, ...small, disruption: { windows } });
    await world.settle(1);
    const { endpointID } = world.compute(0).status;
    world.console("PATCH", `/projects/shop/endpoints/${endpointID}`, {
      endpoint: { autoscaling_limit_max_cu: 4, passwordless_access: false },
    });
    await world.clock.advance(60_000);
    expect(patches(world)).toEqual([{ passwordless_access: true }]);
    expect(reasonOf(world)).toBe("WaitingForWindow");
    await world.restart();
    await world.clock.advance(60_000);
    expect(patches(world)).toHaveLength(1);
    await world.clock.advance(2 * hours);
    expect(patches(world)).toEqual([{ passwordless_access: true }, { autoscaling_limit_max_cu: 2 }]);
  });
});

describe("a schedule", () => {
  const office = { name: "office", from: "08:00", to: "19:00", ...large };

  it("a schedule changes the size at the beginning and the end of its entry, in windows or not, and carries what waits", async () => {
    await using world = new SmallWorld([place.branchID], 1);
    world.declare(0, { ...place, ...small, schedule: [office], disruption: { windows } });
    await world.settle(1);
    expect(world.compute(0).status).toMatchObject({
      appliedEntry: "",
      schedule: { active: "", until: "2026-01-01T08:00:00Z" },
      size: "1–2 CU",
    });
    await world.clock.advance(4 * hours);
    world.edit(0, { postgresSettings: { work_mem: "8MB" } });
    await world.clock.advance(8 * hours - 1000 - world.clock.monotonic());
    expect(patches(world)).toEqual([]);
    await world.clock.advance(11_000);
    expect(patches(world)).toEqual([{ ...largeSent, settings: { pg_settings: { work_mem: "8MB" } } }]);
    await world.clock.advance(60_000);
    expect(world.compute(0).status).toMatchObject({
      appliedEntry: "office",
      schedule: { active: "office", until: "2026-01-01T19:00:00Z" },
      size: "4–8 CU",
    });
    expect(reasonOf(world)).toBe("Active");
    await world.clock.advance(19 * hours + 10_000 - world.clock.monotonic());
    expect(patches(world)).toHaveLength(2);
    expect(patches(world)[1]).toEqual({ autoscaling_limit_min_cu: 1, autoscaling_limit_max_cu: 2 });
  });

  it("a schedule brings the compute to the entry that is in force now after the operator was down when it began", async () => {
    await using world = new SmallWorld([place.branchID], 1);
    world.declare(0, { ...place, ...small, schedule: [office], disruption: { windows } });
    await world.settle(1);
    await world.clock.advance(7 * hours);
    await world[Symbol.asyncDispose]();
    await world.clock.advance(2 * hours);
    expect(patches(world)).toEqual([]);
    await world.restart();
    await world.clock.advance(120_000);
    expect(patches(world)).toEqual([largeSent]);
    expect(world.compute(0).status.appliedEntry).toBe("office");
  });

  it("a schedule costs a settled fleet no write and no reconcile between its boundaries", async () => {
    const counted = async (spec: object) => {
      await using world = new SmallWorld([place.branchID], 1);
      world.declare(0, { ...place, ...small, ...spec });
      await world.settle(1);
      await world.clock.advance(60_000);
      const [versions, before] = [world.versions, await world.reconciles()];
      await world.clock.advance(6 * hours);
      return { isWritten: String(world.versions) !== String(versions), more: (await world.reconciles()) - before };
    };
    const without = await counted({});
    expect(await counted({ schedule: [office], disruption: { windows } })).toEqual(without);
    expect(without.isWritten).toBe(false);
  });

  it("a schedule says in the condition which time zone is not known, and sends all else", async () => {
    await using world = new SmallWorld([place.branchID], 1);
    const lost = { ...office, timeZone: "Mars/Olympus", from: "00:00", to: "00:00" };
    world.declare(0, { ...place, ...small, schedule: [lost] });
    await world.settle(1);
    world.edit(0, { passwordlessAccess: false });
    await world.clock.advance(60_000);
    expect(patches(world)).toEqual([{ passwordless_access: false }]);
    expect(world.compute(0).status.conditions?.[0]?.message).toContain("does not know the time zone Mars/Olympus");
  });
});
