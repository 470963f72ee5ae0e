import { setTimeout as sleep } from "node:timers/promises";
import { describe, type ExpectStatic, it } from "vitest";
import { compute, connection, goodKey, keySecret } from "./manifests.ts";
import { sharedCluster } from "./shared-cluster.ts";
import { World } from "./world.ts";

/** A world in which one Compute is ready, and all is well so far. */
async function healthyWorld(): Promise<World> {
  const world = await World.start({ cluster: sharedCluster() });
  await world.apply(compute("shop", { projectID: "shop", branchID: "br-main", computeUnits: { min: 1, max: 1 } }));
  await world.waitForReady("compute/shop");
  return world;
}

/** More than this in ten seconds is a hot loop: lists and probes are tried every five, three times each. */
const mostCallsInTenSeconds = 20;

async function callsInTenSeconds(world: World): Promise<number> {
  world.counter.clear();
  await sleep(10_000);
  return world.counter.requests.length;
}

/** Nothing was lost or doubled, and a change gets through again. */
async function expectRecovery(expect: ExpectStatic, world: World): Promise<void> {
  await world.waitForReason("serviceconnection/default", "Authenticated");
  await world.apply(compute("shop", { projectID: "shop", branchID: "br-main", computeUnits: { min: 2, max: 2 } }));
  await world.waitForField("compute/shop", "{.status.size}", "2 CU");
  await world.waitForReady("compute/shop");
  expect(await world.endpoints()).toHaveLength(1);
}

describe.concurrent("a connection that stops working says so, is not hammered, and recovers automatically", () => {
  it("a connection without its Secret says so, and recovers", async ({ expect }) => {
    await using world = await healthyWorld();
    // A Secret in use is kept by a finalizer: one that names another Secret is as good as one that lost it.
    await world.apply(connection(world.counter.baseURL, { apiKeySecretRef: { name: "elsewhere" } }));
    await world.waitForReason("serviceconnection/default", "SecretNotFound");
    await world.waitForReason("compute/shop", "ConnectionNotReady");
    expect(await callsInTenSeconds(world)).toBeLessThanOrEqual(0);
    await world.apply(connection(world.counter.baseURL));
    await expectRecovery(expect, world);
  });

  it("a connection with an empty Secret says so, and recovers", async ({ expect }) => {
    await using world = await healthyWorld();
    await world.kubectl("patch", "secret", "service-api-key", "--type=json", "-p", '[{"op":"remove","path":"/data"}]');
    await world.waitForReason("serviceconnection/default", "InvalidSecret");
    await world.waitForReason("compute/shop", "ConnectionNotReady");
    expect(await callsInTenSeconds(world)).toBeLessThanOrEqual(0);
    await world.apply(keySecret(goodKey));
    await expectRecovery(expect, world);
  });

  it("a connection with a wrong key says so, and recovers", async ({ expect }) => {
    await using world = await healthyWorld();
    await world.apply(keySecret("no-such-key"));
    await world.waitForReason("serviceconnection/default", "Unauthorized");
    await world.waitForReason("compute/shop", "Unauthorized");
    expect(await callsInTenSeconds(world)).toBeLessThanOrEqual(mostCallsInTenSeconds);
    await world.apply(keySecret(goodKey));
    await expectRecovery(expect, world);
  });

  it("a connection to a service that cannot be reached says so, and recovers", async ({ expect }) => {
    await using world = await healthyWorld();
    await world.service.kill();
    await world.waitForReason("compute/shop", "ServiceUnavailable");
    await world.waitForReason("serviceconnection/default", "Unreachable");
    expect(await callsInTenSeconds(world)).toBeLessThanOrEqual(mostCallsInTenSeconds);
    await world.service.start();
    await expectRecovery(expect, world);
  });

  it("a connection to something that is not the service says so, and recovers", async ({ expect }) => {
    await using world = await healthyWorld();
    world.counter.instead = () => ({ status: 200, body: "<h1>It works!</h1>" });
    await world.waitForReason("compute/shop", "ServiceUnavailable");
    await world.waitForReason("serviceconnection/default", "Unreachable");
    expect(await callsInTenSeconds(world)).toBeLessThanOrEqual(mostCallsInTenSeconds);
    world.counter.instead = undefined;
    await expectRecovery(expect, world);
  });
});
