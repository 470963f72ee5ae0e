import { expect, it } from "vitest";
import { type Endpoint, EndpointsAnswer } from "../../src/api/endpoint.ts";
import { SmallWorld } from "./support/small-world.ts";

// A service whose reads come from a copy that is behind its writes, GETs of one endpoint among them.

const place = { projectID: "shop", branchID: "br-0-a", scaleToZero: { enabled: true, after: "5m" } };
const lagMs = 20_000;

/** A settled primary; from then on reads show what was so many milliseconds ago. */
async function lagging(): Promise<SmallWorld> {
  const world = new SmallWorld([place.branchID], 1);
  world.declare(0, place);
  await world.settle(1);
  await world.clock.advance(60_000);
  const history: { at: number; endpoints: Endpoint[] }[] = [{ at: 0, endpoints: world.endpoints }];
  const record = () => void history.push({ at: world.clock.monotonic(), endpoints: world.endpoints });
  world.host.instead = ({ method, path }) => {
    if (method !== "GET") {
      world.clock.after(1, record);
      return undefined;
    }
    const { endpoints = [] } = history.findLast(({ at }) => at <= world.clock.monotonic() - lagMs) ?? {};
    const reply = (status: number, body: object) => ({ status, headers: {}, body: JSON.stringify(body) });
    if (path.endsWith("/endpoints")) return reply(200, EndpointsAnswer.parse({ endpoints }));
    const [, id] = /\/endpoints\/([^/]+)$/.exec(path) ?? [];
    if (id === undefined) return undefined;
    const endpoint = endpoints.find((one) => one.id === id);
    return endpoint === undefined ? reply(404, { code: "", message: "endpoint not found" }) : reply(200, { endpoint });
  };
  return world;
}

it("an endpoint that reads do not show yet is not called lost, and not made again", async () => {
  await using world = await lagging();
  const { length } = world.writes;
  world.declare(1, { ...place, type: "read_only" });
  await world.settle(2);
  await world.clock.advance(120_000);
  expect(world.writes.slice(length)).toEqual(["POST /projects/shop/endpoints"]);
  expect([world.endpoints.length, world.timesEmitted("EndpointLost")]).toEqual([2, 0]);
});

it("an endpoint that reads do not show yet is deleted with its Compute, and not taken for gone already", async () => {
  await using world = await lagging();
  world.declare(1, { ...place, type: "read_only" });
  await world.clock.advance(3000);
  world.remove(1);
  await world.clock.advance(240_000);
  expect([world.isGone(1), world.endpoints.length]).toEqual([true, 1]);
});
