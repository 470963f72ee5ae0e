import { describe, expect, it } from "vitest";
import { SmallWorld } from "./support/small-world.ts";

const place = { projectID: "shop", branchID: "br-0-a", scaleToZero: { enabled: false } };

it.each([0, 20, 300, 1500])(
  "a Compute that is paused %i ms after a restart was requested shows what becomes of it, and never loses track of it",
  async (ms) => {
    await using world = new SmallWorld([place.branchID], 1, { timeScale: 0.5 });
    world.declare(0, place);
    await world.settle(1);
    world.annotate(0, "restartedAt", "now");
    await world.clock.advance(ms);
    world.annotate(0, "paused", "true");
    const states = new Set<string | undefined>();
    for (let step = 0; step < 800; step++) {
      await world.clock.advance(25);
      states.add(world.compute(0).status.state);
    }
    const { status } = world.compute(0);
    expect([status.state, status.conditions?.[0]?.reason]).toEqual(["Active", "Paused"]);
    expect(status.operations?.filter((one) => one.status !== "finished")).toEqual([]);
    expect(status.restartedAt).toBe(world.writes.length > 1 ? "now" : undefined);
    expect([...states]).not.toContain("Unknown");
  },
);

it.each([
  ["true", true],
  ["True", true],
  ["yes", true],
  ["", true],
  ["false", false],
])("an edit of a Compute with the annotation paused=%j is held back: %s", async (value, failedWrite) => {
  await using world = new SmallWorld([place.branchID], 1);
  world.declare(0, place);
  await world.settle(1);
  world.annotate(0, "paused", value);
  world.edit(0, { disabled: true });
  await world.clock.advance(60_000);
  expect(world.writes.filter((write) => write.startsWith("PATCH")).length).toBe(failedWrite ? 0 : 1);
  expect(world.compute(0).status.conditions?.[0]?.reason).toBe(failedWrite ? "Paused" : "Disabled");
  world.remove(0);
  await world.clock.advance(60_000);
  expect(world.isGone(0)).toBe(!failedWrite);
});

it.each([false, true])(
  "a pause until a time ends then, and holds an edit back until then (deleted: %s)",
  async (deleted) => {
    await using world = new SmallWorld([place.branchID], 1);
    world.declare(0, place);
    await world.settle(1);
    const until = new Date(world.clock.now() + 120_000).toISOString();
    world.annotate(0, "paused", until);
    if (deleted) world.remove(0);
    else world.edit(0, { disabled: true });
    await world.clock.advance(115_000);
    const sent = () => world.writes.filter((write) => /^(PATCH|DELETE)/.test(write)).length;
    expect(sent()).toBe(0);
    const [ready] = world.compute(0).status.conditions ?? [];
    expect(ready).toMatchObject({ reason: "Paused", message: expect.stringContaining(`until ${until}`) });
    // Nothing but the time itself calls for a reconcile.
    await world.clock.advance(6000);
    expect(sent()).toBe(1);
  },
);

it.each(["2026-13-01T00:00:00Z", "2026-01-01", "1d"])(
  "a value that is no time pauses without end: %s",
  async (value) => {
    await using world = new SmallWorld([place.branchID], 1);
    world.declare(0, place);
    await world.settle(1);
    world.annotate(0, "paused", value);
    world.edit(0, { disabled: true });
    await world.clock.advance(600_000);
    expect(world.writes.filter((write) => write.startsWith("PATCH"))).toEqual([]);
  },
);

it("a copy that is paused shows nothing of the endpoint that is another's, and has its own once its link is removed", async () => {
  await using world = new SmallWorld([place.branchID, "br-1-a"], 1);
  world.declare(0, place);
  await world.settle(1);
  world.declare(1, { ...place, branchID: "br-1-a" });
  world.annotate(1, "endpoint-id", world.compute(0).status.endpointID);
  await world.clock.advance(30_000);
  world.annotate(1, "paused", "true");
  await world.clock.advance(30_000);
  const { conditions, host, endpointID } = world.compute(1).status;
  expect([conditions?.[0]?.reason, host, endpointID]).toEqual(["Paused", undefined, undefined]);
  world.annotate(1, "endpoint-id", undefined);
  world.annotate(1, "paused", undefined);
  await world.settle(2);
  expect(world.endpoints).toHaveLength(2);
  expect(world.timesEmitted("Conflict")).toBe(1);
});

describe("while paused, Synced", () => {
  const verdicts = (world: SmallWorld) => world.compute(0).status.conditions?.map(({ type, status }) => [type, status]);

  it("Synced is True while the service shows what is declared, False with an unsent change, and Unknown unseen", async () => {
    await using world = new SmallWorld([place.branchID], 1);
    world.declare(0, place);
    await world.settle(1);
    world.annotate(0, "paused", "true");
    await world.clock.advance(1000);
    const ready = ["Ready", "True"];
    expect(verdicts(world)).toEqual([ready, ["Synced", "True"]]);
    world.edit(0, { computeUnits: { min: 2, max: 2 } });
    await world.clock.advance(1000);
    expect(verdicts(world)).toEqual([ready, ["Synced", "False"]]);
    world.host.instead = () => ({ status: 500, headers: {} });
    await world.clock.advance(40_000);
    expect(verdicts(world)).toEqual([ready, ["Synced", "False"]]);
    await world.clock.advance(90_000);
    expect(verdicts(world)).toEqual([ready, ["Synced", "Unknown"]]);
    world.host.instead = undefined;
    world.edit(0, { computeUnits: { min: 1, max: 1 } });
    await world.clock.advance(60_000);
    expect([verdicts(world), world.writes]).toEqual([[ready, ["Synced", "True"]], ["POST /projects/shop/endpoints"]]);
  });

  it("Synced is Unknown with an unsent change of a field that the service does not show", async () => {
    await using world = new SmallWorld([place.branchID], 1, { strictSpec: true });
    world.declare(0, place);
    await world.settle(1);
    world.annotate(0, "paused", "true");
    world.edit(0, { scaleToZero: { enabled: true, after: "10m" } });
    await world.clock.advance(1000);
    expect(verdicts(world)).toEqual([
      ["Ready", "True"],
      ["Synced", "Unknown"],
    ]);
  });
});
