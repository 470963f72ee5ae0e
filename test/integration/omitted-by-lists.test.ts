import { expect, it } from "vitest";
import { asRecord } from "../../src/operator/objects/record.ts";
import { isReady } from "../support/is-ready.ts";
import { SmallWorld } from "./support/small-world.ts";

const replica = { projectID: "shop", branchID: "br-0", type: "read_only" };

/** Lists lack an endpoint, which its own GET shows, until the returned function is called. */
function omitting(world: SmallWorld, id: string | undefined): () => void {
  const send = world.network.send.bind(world.network);
  world.network.send = async (request, options) => {
    const answer = await send(request, options);
    const { endpoints, ...rest } = asRecord(answer.body);
    if (!request.path.endsWith("/endpoints") || !Array.isArray(endpoints)) return answer;
    return { ...answer, body: { ...rest, endpoints: endpoints.filter((endpoint) => asRecord(endpoint).id !== id) } };
  };
  return () => {
    world.network.send = send;
  };
}

it("an endpoint that lists lack and its own GET shows is asked for ever more rarely, and known again at once", async () => {
  await using world = new SmallWorld([replica.branchID], 1);
  for (const index of [0, 1, 2]) world.declare(index, replica);
  await world.settle(3);
  await world.clock.advance(30_000);
  const show = omitting(world, world.compute(0).status.endpointID);
  await world.clock.advance(1_200_000);
  world.host.calls.length = 0;
  await world.clock.advance(1_800_000);
  const paths = world.host.calls.map(({ path }) => path);
  expect(paths.filter((path) => /\/endpoints\/ep-/.test(path)).length).toBeLessThanOrEqual(7);
  expect(paths.filter((path) => path.endsWith("/endpoints")).length).toBeLessThanOrEqual(60 + 15);
  world.edit(0, { computeUnits: { min: 2, max: 2 } });
  show();
  await world.clock.advance(60_000);
  expect(isReady(world.compute(0))).toBe(true);
  expect(world.endpoints).toHaveLength(3);
});

it("a Compute whose endpoint lists lack and its own GET shows is not let go, and asks ever more rarely", async () => {
  await using world = new SmallWorld([replica.branchID], 1);
  for (const index of [0, 1]) world.declare(index, replica);
  await world.settle(2);
  await world.clock.advance(30_000);
  omitting(world, world.compute(0).status.endpointID);
  await world.clock.advance(60_000);
  world.remove(0);
  await world.clock.advance(1_200_000);
  world.host.calls.length = 0;
  await world.clock.advance(1_800_000);
  expect(world.isGone(0)).toBe(false);
  // The refreshes, and at most four requests for each time that the endpoint is asked for.
  expect(world.host.calls.length).toBeLessThanOrEqual(60 + 4 * 7);
});
