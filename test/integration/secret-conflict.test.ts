import { expect, it } from "vitest";
import { type ClusterWeather, calm } from "../simulation/api-server/faults.ts";
import { SmallWorld } from "./support/small-world.ts";

const place = { projectID: "shop", branchID: "br-0-a", connectionSecret: { name: "shop-db" } };
const sized = (cu: number) => ({ ...place, computeUnits: { min: cu, max: cu } });

/** A quota that is counted again, another controller, or a person: kube-apiserver answers 409 to writes of Secrets. */
function worldWith(conflicts: { method?: string | undefined }): SmallWorld {
  const weather: ClusterWeather = {
    ...calm,
    request: (request, timeoutMs) =>
      request.method === conflicts.method && request.path.includes("/secrets")
        ? { kind: "status", afterMs: 5, status: 409 }
        : calm.request(request, timeoutMs),
  };
  return new SmallWorld([place.branchID], 1, {}, weather);
}

it("a conflict on the connection Secret hides neither the create nor its event, and delays no write of the Compute", async () => {
  const conflicts: { method?: string | undefined } = { method: "POST" };
  await using world = worldWith(conflicts);
  world.declare(0, sized(1));
  await world.clock.advance(3000);
  expect([world.writes.length, world.events("Created").length]).toEqual([1, 1]);
  expect(world.compute(0).status.conditions?.[0]?.status).not.toBe("True");
  world.declare(0, sized(2));
  await world.clock.advance(3000);
  expect(world.writes).toHaveLength(2);
  conflicts.method = undefined;
  await world.settle(1);
  expect(world.secretsOf(0)).toHaveLength(1);
  expect([world.writes.length, world.timesEmitted("Created")]).toEqual([2, 1]);
});
