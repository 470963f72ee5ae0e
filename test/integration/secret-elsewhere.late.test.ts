import { describe, expect, it } from "vitest";
import { type ClusterWeather, calm } from "../simulation/api-server/faults.ts";
import type { ClusterWorld } from "./support/cluster-world.ts";
import { agreed, details, elsewhere, removed, restored, secretIn, worldOfApps } from "./support/elsewhere.ts";

const lateMs = 50_000;

/** The first write of a Secret in `apps` takes effect late, and its answer never comes; those after it are refused. */
function lateWrite(method: "POST" | "PATCH"): { weather: ClusterWeather; created: () => boolean } {
  let creates = 0;
  const weather: ClusterWeather = {
    ...calm,
    request: (request, timeoutMs) => {
      const isWrite = request.method === method && request.path.includes("/apps/secrets");
      if (!isWrite) return calm.request(request, timeoutMs);
      creates += 1;
      return creates === 1 ? { kind: "lost", arriveMs: lateMs, afterMs: 1 } : { kind: "refused", afterMs: 1 };
    },
  };
  return { weather, created: () => creates > 0 };
}

/** A world with a settled Compute, whose operator has sent a create of the Secret in `apps` that is to take effect. */
async function worldWithLateCreate(): Promise<ClusterWorld> {
  const { weather, created } = lateWrite("POST");
  const world = worldOfApps({}, { weather });
  world.edit("shop", "db", { connectionSecret: undefined });
  await world.ready("shop", "db");
  // Nothing else of this Compute is open by then.
  await world.clock.advance(2 * lateMs);
  world.label("apps", agreed);
  world.edit("shop", "db", elsewhere);
  await world.until("the create", created);
  return world;
}

const changes: [string, (world: ClusterWorld) => void][] = [
  ["names it still", () => {}],
  ["names none any more", (world) => world.edit("shop", "db", { connectionSecret: undefined })],
  ["names one in its own namespace", (world) => world.edit("shop", "db", { connectionSecret: details })],
  [
    "names another namespace",
    (world) => {
      world.namespace("more", agreed);
      world.edit("shop", "db", { connectionSecret: { ...details, namespace: "more" } });
    },
  ],
];

describe("a create of a Secret in another namespace that takes effect late", () => {
  it.each(changes)("leaves nothing behind a Compute that goes and %s", async (_, change) => {
    await using world = await worldWithLateCreate();
    change(world);
    await world.clock.advance(1000);
    await removed(world);
    await world.clock.advance(2 * lateMs);
    expect([secretIn(world, "apps"), world.endpoints]).toEqual([undefined, []]);
  });

  it.each(changes)("leaves nothing behind a Compute that goes and %s, of a process that died", async (_, change) => {
    await using world = await worldWithLateCreate();
    await world.restart(() => {
      change(world);
      world.remove("shop", "db");
    });
    await world.until("the end of shop/db", () => world.isGone("shop", "db"));
    await world.clock.advance(2 * lateMs);
    expect([secretIn(world, "apps"), world.endpoints]).toEqual([undefined, []]);
  });

  it.each(changes)("goes or stands as the spec says with a Compute that stays and %s", async (_, change) => {
    await using world = await worldWithLateCreate();
    await world.restart(() => change(world));
    await world.clock.advance(4 * lateMs);
    await world.ready("shop", "db");
    const { namespace } = world.compute("shop", "db").spec.connectionSecret ?? {};
    expect(secretIn(world, "apps") !== undefined).toBe(namespace === "apps");
    await removed(world);
    const all = ["apps", "shop", "more"].map((each) => secretIn(world, each));
    expect(all).toEqual([undefined, undefined, undefined]);
  });

  it("keeps no Compute waiting whose namespace no other one agrees to take Secrets from", async () => {
    await using world = worldOfApps({});
    await world.until("the refusal", () => world.said("shop", "db").startsWith("SecretNotAllowed"));
    await world.restart(() => world.remove("shop", "db"));
    await world.clock.advance(30_000);
    expect(world.isGone("shop", "db")).toBe(true);
  });
});

it("a takeover of a former Compute's Secret that takes effect late leaves nothing behind a Compute that goes", async () => {
  const { weather, created } = lateWrite("PATCH");
  await using world = worldOfApps(agreed, { weather });
  await world.ready("shop", "db");
  // The time after a start of the operator is over.
  await world.clock.advance(2 * lateMs);
  restored(world);
  await world.until("the takeover", created);
  await removed(world);
  await world.clock.advance(2 * lateMs);
  expect(secretIn(world, "apps")).toBeUndefined();
});
