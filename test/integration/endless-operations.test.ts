import { expect, it } from "vitest";
import type { ServiceRequest, ServiceResponse } from "../../src/operator/service-client/transport.ts";
import { isReady } from "../support/is-ready.ts";
import { SmallWorld } from "./support/small-world.ts";

const place = { projectID: "shop", branchID: "br-0" };

/** Changes what the service answers. */
function answering(world: SmallWorld, change: (request: ServiceRequest, text: string) => string): void {
  const send = world.network.send.bind(world.network);
  world.network.send = async (request, options) => {
    const answer = await send(request, options);
    return {
      ...answer,
      body: JSON.parse(change(request, JSON.stringify(answer.body ?? null))),
    } satisfies ServiceResponse;
  };
}

it("an operation whose status is a new word counts as over after a minute: edits are sent, and polls end", async () => {
  await using world = new SmallWorld([place.branchID], 1);
  answering(world, (_, text) => text.replaceAll('"status":"finished"', '"status":"completed"'));
  world.declare(0, { ...place, computeUnits: { min: 1, max: 1 } });
  await world.clock.advance(120_000);
  expect(isReady(world.compute(0))).toBe(true);
  world.edit(0, { computeUnits: { min: 2, max: 2 } });
  await world.clock.advance(5000);
  expect(world.endpoints.map((one) => one.autoscaling_limit_max_cu)).toEqual([2]);
  await world.clock.advance(115_000);
  expect(isReady(world.compute(0))).toBe(true);
  world.host.calls.length = 0;
  await world.clock.advance(3_600_000);
  expect(world.host.calls.filter(({ path }) => path.endsWith("/operations"))).toEqual([]);
});

it("an operation that runs for hours holds an edit up for ten minutes, and is polled as rarely as the project is listed", async () => {
  await using world = new SmallWorld([place.branchID], 1);
  world.declare(0, { ...place, computeUnits: { min: 1, max: 1 } });
  await world.settle(1);
  answering(world, ({ path }, text) =>
    path.endsWith("/endpoints")
      ? text.replaceAll('"current_state"', '"pending_state":"active","current_state"')
      : text.replaceAll('"status":"finished"', '"status":"running"'),
  );
  world.edit(0, { computeUnits: { min: 2, max: 2 } });
  await world.clock.advance(60_000);
  world.edit(0, { computeUnits: { min: 3, max: 3 } });
  await world.clock.advance(480_000);
  expect(world.endpoints.map((one) => one.autoscaling_limit_max_cu)).toEqual([2]);
  await world.clock.advance(120_000);
  expect(world.endpoints.map((one) => one.autoscaling_limit_max_cu)).toEqual([3]);
  await world.clock.advance(600_000);
  world.host.calls.length = 0;
  await world.clock.advance(3_600_000);
  expect(world.host.calls.filter(({ path }) => path.endsWith("/operations")).length).toBeLessThanOrEqual(121);
  expect(world.compute(0).status.conditions?.find(({ type }) => type === "Ready")?.reason).toBe("Updating");
});
