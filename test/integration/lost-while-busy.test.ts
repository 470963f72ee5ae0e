import { expect, it } from "vitest";
import { SmallWorld } from "./support/small-world.ts";

const place = { projectID: "shop", branchID: "br-0-a" };
const operations = "/projects/{project_id}/operations";

it("an endpoint that is lost while the end of its operation cannot be seen is listed again, and not looked for in a loop", async () => {
  await using world = new SmallWorld([place.branchID], 1);
  world.declare(0, place);
  await world.settle(1);
  const lost = world.compute(0).status.endpointID;
  world.host.service.setFaults([{ method: "GET", route: operations, kind: "503" }]);
  world.declare(0, { ...place, computeUnits: { min: 1, max: 2 } });
  await world.clock.advance(10_000);
  expect(world.compute(0).status.operations?.map(({ status }) => status)).toContain("running");
  await world.restart(() => world.console("DELETE", `/projects/shop/endpoints/${lost}`));
  // Two lists, ten seconds apart, prove it, and not the next refresh.
  await world.clock.advance(20_000);
  expect(await world.reconciles()).toBeLessThanOrEqual(20);
  expect(world.compute(0).status.state).toBe("Lost");
  // The operation that is not heard of blocks its project for a minute.
  await world.clock.advance(60_000);
  expect(world.endpoints.map(({ id }) => id)).toEqual([expect.not.stringMatching(lost ?? "")]);
});
