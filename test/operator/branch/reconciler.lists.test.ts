import { describe, expect, test } from "vitest";
import { DeletionBrake } from "../../../src/operator/project/deletion-brake.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";
import { setUp } from "./reconciling.ts";

const second = 1000;
const minute = 60 * second;

/** One whose branch is seen and at rest, and the number of lists of branches since it was asked last. */
async function settled() {
  const world = await setUp();
  world.standing();
  await world.run(20 * second);
  const lists = () =>
    world.reach.service.requests.splice(0).filter(({ method, path }) => method === "GET" && path.endsWith("/branches"))
      .length;
  lists();
  return { ...world, lists };
}

describe("a settled Branch", () => {
  test("a settled Branch is judged by a newer list after a gap of the watch", async () => {
    const world = await settled();
    world.reconciler.relisted();
    await world.run(second);
    expect(world.lists()).toBe(1);
  });

  test("a settled Branch costs no list any more once its object has gone", async () => {
    const world = await settled();
    const { uid } = world.object().metadata;
    world.write([{ op: "remove", path: "/metadata/finalizers" }]);
    world.drop();
    world.reach.enqueue(uid);
    await world.clock.advance(second);
    world.lists();
    await world.clock.advance(5 * minute);
    expect(world.lists()).toBe(0);
  });
});

test("a Branch that records what a list shows goes on with that list", async () => {
  const world = await setUp();
  world.branches.set("br-one", { id: "br-one", name: "default/shop", current_state: "ready" });
  world.stored({ spec: { adopt: { byName: true } } });
  await world.run(10 * second);
  const asked = world.reach.service.requests.filter(({ path }) => path.endsWith("/branches"));
  expect([world.reason(), asked.length]).toEqual(["Available", 1]);
  expect(world.events).toEqual([expect.stringMatching(/^shop Normal Adopted: /)]);
});

test("a Branch that a gap of the watch came before is judged by a list from after it", async () => {
  const world = await settled();
  world.reconciler.relisted();
  const next = world.stored({ name: "next" });
  await world.run(second, next);
  expect(world.lists()).toBeGreaterThan(0);
});

test("a write that waits for its turn is looked at in ten minutes, if nothing enqueues it", async () => {
  const world = await setUp({ brake: new DeletionBrake(new VirtualClock(), 0) });
  world.standing();
  world.drop();
  await world.run(20 * second);
  expect(world.reason()).toBe("Deleting");
  expect(world.events).toEqual([expect.stringMatching(/^shop Warning Deleting: --max-branch-deletes-per-minute/)]);
  expect(world.delays.at(-1)).toBe(10 * minute);
});

test("a lease that nears its end without a renewal is a warning, once", async () => {
  const world = await setUp();
  const end = new Date(world.clock.now() + 60 * minute).toISOString();
  const lease = { spec: { expiry: { lease: "1h" } }, status: { appliedExpiry: "lease 1h", appliedEnd: end } };
  world.standing(lease, { expires_at: end });
  world.state.refuses = 503;
  await world.run(44 * minute);
  expect(world.events.filter((event) => event.includes("LeaseEnding"))).toEqual([]);
  await world.clock.advance(10 * minute);
  expect(world.events.filter((event) => event.includes("LeaseEnding"))).toEqual([
    expect.stringContaining(
      `shop Warning LeaseEnding: The lease of the branch ends at ${end} and could not be renewed.`,
    ),
  ]);
});

test("a lease that was renewed after its warning is a warning again once it nears its end", async () => {
  const world = await setUp();
  const end = new Date(world.clock.now() + 15 * minute).toISOString();
  const lease = { spec: { expiry: { lease: "15m" } }, status: { appliedExpiry: "lease 15m", appliedEnd: end } };
  world.standing(lease, { expires_at: end });
  const warnings = () => world.events.filter((event) => event.includes("LeaseEnding"));
  world.state.refuses = 503;
  await world.run(12 * minute);
  world.state.refuses = undefined;
  await world.clock.advance(2 * minute);
  expect(warnings()).toHaveLength(1);
  world.state.refuses = 503;
  await world.clock.advance(14 * minute);
  expect(warnings()).toHaveLength(2);
  expect(warnings()[1]).not.toContain(end);
});
