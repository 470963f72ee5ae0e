import { expect, it } from "vitest";
import { isReady } from "../support/is-ready.ts";
import { SmallWorld } from "./support/small-world.ts";

it("each of several that are made or changed together is Ready within two and a half seconds of its last operation's end", async () => {
  const numbers = [0, 1, 2, 3, 4, 5];
  await using world = new SmallWorld(
    numbers.map((index) => `br-${index}`),
    1,
    { timeScale: 1 },
  );
  for (const cu of [1, 2]) {
    for (const index of numbers) {
      const place = { projectID: "shop", branchID: `br-${index}`, scaleToZero: { enabled: false } };
      world.declare(index, { ...place, computeUnits: { min: cu, max: cu } });
    }
    const late = new Map<number, number>();
    for (let waited = 0; waited < 60_000; waited += 100) {
      await world.clock.advance(100);
      for (const index of numbers) {
        if (!isReady(world.compute(index)) && isAtRest(world, index, cu)) late.set(index, (late.get(index) ?? 0) + 100);
      }
    }
    expect(numbers.map((index) => isReady(world.compute(index)))).not.toContain(false);
    // Polls of a project are a second apart and wait half a second for more; so are its lists, one of which follows.
    expect(Math.max(0, ...late.values())).toBeLessThanOrEqual(2500);
  }
});

/** Whether the service has nothing left to do for it. */
function isAtRest(world: SmallWorld, index: number, cu: number): boolean {
  const { endpointID } = world.compute(index).status;
  const endpoint = world.endpoints.find(({ id }) => id === endpointID);
  if (endpoint?.autoscaling_limit_max_cu !== cu || endpoint.pending_state !== undefined) return false;
  const { operations } = world.console("GET", "/projects/shop/operations");
  return !operations.some(
    (one: { endpoint_id: string; status: string }) => one.endpoint_id === endpointID && one.status !== "finished",
  );
}
