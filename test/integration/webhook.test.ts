import { expect, it } from "vitest";
import { type ClusterWeather, calm } from "../simulation/api-server/faults.ts";
import { said } from "./conditions/conditions.ts";
import { SmallWorld } from "./support/small-world.ts";

// An admission webhook that cannot be called and must not be passed over: kube-apiserver answers 500, to the objects
// that the webhook is for, and seldom to their status.

const place = { projectID: "shop", branchID: "br-0-a", scaleToZero: { enabled: false } };
const message =
  'Internal error occurred: failed calling webhook "policy.example.com": failed to call webhook: Post "https://policy.test:443/validate": connect: connection refused';

/** `away` says of which objects: part of the path of their patches. */
function worldWith(away: { of: string | undefined }, branches = [place.branchID]): SmallWorld {
  const weather: ClusterWeather = {
    ...calm,
    request: (request, timeoutMs) => {
      const { method, path } = request;
      const isMeant = away.of !== undefined && path.includes(away.of) && !path.endsWith("/status");
      return method === "PATCH" && isMeant
        ? { kind: "status", afterMs: 5, status: 500, message }
        : calm.request(request, timeoutMs);
    },
  };
  return new SmallWorld(branches, 1, {}, weather);
}

it.each([
  ["Computes", "/computes/"],
  ["Secrets", "/secrets/"],
  ["ServiceConnections", "/serviceconnections/"],
])(
  "a webhook of %s that is away is named by the Compute that waits for it, and nothing is sent until it is back",
  async (_, of) => {
    const away: { of: string | undefined } = { of };
    await using world = worldWith(away);
    world.declare(0, place);
    await world.clock.advance(60_000);
    expect(said(world.compute(0))).toContain('failed calling webhook "policy.example.com"');
    const { versions } = world;
    await world.clock.advance(300_000);
    expect([world.versions, world.writes]).toEqual([versions, []]);
    away.of = undefined;
    await world.settle(1);
    expect(world.writes).toHaveLength(1);
  },
);

it("a webhook that refuses the patches of some Computes takes nothing from the budget of their key: others write at once", async () => {
  const away: { of: string | undefined } = { of: "/computes/db-1" };
  await using world = worldWith(away, ["br-0-a", "br-1-a"]);
  const path = "/apis/compute-operator.dev/v1alpha1/namespaces/default/serviceconnections/default";
  const connection = world.send("GET", path);
  world.send("PUT", path, { ...connection, spec: { ...connection.spec, requestBudget: { perMinute: 12, burst: 6 } } });
  world.declare(1, { ...place, branchID: "br-1-a" });
  // Each retry takes a request for the create, and sends nothing.
  await world.clock.advance(600_000);
  expect(world.writes).toEqual([]);
  world.declare(0, place);
  await world.clock.advance(3000);
  expect(world.writes).toHaveLength(1);
});
