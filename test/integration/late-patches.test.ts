import { expect, it } from "vitest";
import { type ClusterWeather, calm } from "../simulation/api-server/faults.ts";
import { SmallWorld } from "./support/small-world.ts";

// A patch of the Compute gets no reply and arrives late, while a POST is on its way that it knows nothing of.

/** Has the first patch whose body contains `text` arrive only once `release` is called, which tells its status. */
function holdingUp(text: string) {
  const held: (() => number)[] = [];
  const weather: ClusterWeather = {
    ...calm,
    request: (request, timeoutMs) => {
      const isMain = request.method === "PATCH" && /computes\/[^/]+$/.test(request.path);
      if (!isMain || held.length > 0 || !JSON.stringify(request.body).includes(text))
        return calm.request(request, timeoutMs);
      const copy = structuredClone(request);
      held.push(() => world.server.handle(copy).status);
      return { kind: "refused", afterMs: 5 };
    },
  };
  const world = new SmallWorld(["br-0-a"], 1, { timeScale: 1 }, weather);
  return { world, isHeld: () => held.length > 0, release: () => held[0]?.() };
}

it("a late link to what an earlier create made does not fit while the next one is on its way", async () => {
  const { world, isHeld, release } = holdingUp("endpoint-id");
  await using _ = world;
  world.declare(0, { projectID: "shop", branchID: "br-0-a" });
  await world.settle(1);
  expect(isHeld()).toBe(true);
  let arrived: number | undefined;
  world.host.instead = ({ method, path }) => {
    if (method === "POST" && path.endsWith("/endpoints")) arrived ??= release();
    return undefined;
  };
  world.console("DELETE", `/projects/shop/endpoints/${world.endpoints[0]?.id}`);
  await world.clock.advance(120_000);
  expect(arrived).toBe(422);
  expect(world.endpoints.map(({ id }) => id)).toEqual([world.compute(0).status.endpointID]);
  await world.settle(1);
});
