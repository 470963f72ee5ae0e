import { expect, it } from "vitest";
import { NoResponseError } from "../../src/operator/service-client/transport.ts";
import { type ClusterWeather, calm } from "../simulation/api-server/faults.ts";
import { SmallWorld } from "./support/small-world.ts";

// A patch of the Compute gets no reply and arrives late, while a POST is on its way that it knows nothing of.

/** Has the first patch whose body contains `text` arrive only once `release` is called, which tells its status. */
function holdingUp(text: string, strictSpec = false) {
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
  const world = new SmallWorld(["br-0-a"], 1, { strictSpec, timeScale: 1 }, weather);
  return { world, isHeld: () => held.length > 0, release: () => held[0]?.() };
}

const cut = () => new NoResponseError("ECONNRESET: the connection was cut");

it("a late link to what an earlier create made does not settle the next one", async () => {
  const { world, isHeld, release } = holdingUp("1endpoint-id", true);
  await using _ = world;
  let posts = 0;
  let arrived: number | undefined;
  world.host.instead = ({ method, path, body }) => {
    if (method !== "POST" || !path.endsWith("/endpoints")) return undefined;
    posts += 1;
    if (posts > 3) return undefined;
    if (posts === 2) world.console(method, path, body);
    if (posts === 3) {
      world.clock.after(200, () => {
        arrived = release();
      });
      world.clock.after(300, () => world.console(method, path, body));
    }
    throw cut();
  };
  world.declare(0, { projectID: "shop", branchID: "br-0-a" });
  while (!isHeld()) await world.clock.advance(100);
  world.console("DELETE", `/projects/shop/endpoints/${world.endpoints[0]?.id}`);
  await world.clock.advance(400_000);
  expect([posts, arrived]).toEqual([3, 422]);
  expect(world.endpoints.map(({ id }) => id)).toEqual([world.compute(0).status.endpointID]);
  await world.settle(1);
});

it.each([503, 423])(
  "a late removal of the mark of a restart refused with %i does not take the next one's",
  async (status) => {
    const { world, release } = holdingUp(
      '"remove","path":"/metadata/annotations/compute-operator.dev~1pending-restart"',
    );
    await using _ = world;
    world.declare(0, { projectID: "shop", branchID: "br-0-a", scaleToZero: { enabled: false } });
    await world.settle(1);
    await world.clock.advance(120_000);
    let posts = 0;
    let arrived: number | undefined;
    world.host.instead = ({ method, path, body }) => {
      if (method !== "POST" || !path.endsWith("/restart")) return undefined;
      posts += 1;
      if (posts === 1) return { status, headers: {}, body: JSON.stringify({ code: "", message: "no" }) };
      if (posts > 2) return undefined;
      world.clock.after(200, () => {
        arrived = release();
      });
      world.console(method, path, body);
      throw cut();
    };
    world.annotate(0, "restartedAt", "now");
    await world.clock.advance(120_000);
    expect([posts, arrived]).toEqual([2, 422]);
  },
);
