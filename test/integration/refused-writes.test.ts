import { describe, expect, it } from "vitest";
import { type ClusterWeather, calm } from "../simulation/api-server/faults.ts";
import { SmallWorld } from "./support/small-world.ts";

// An API server that is read and takes no writes (as where the disk of etcd is full), or none of a status (as where a
// policy refuses them), beside a service that carries everything out.

type Refused = "all" | "status";

const place = { projectID: "shop", branchID: "br-0-a", scaleToZero: { enabled: true, after: "5m" } };

async function settled(refused: Refused, strictSpec: boolean) {
  let refuses = false;
  const weather: ClusterWeather = {
    ...calm,
    request: (request, timeoutMs) =>
      refuses && request.method !== "GET" && (refused === "all" || request.path.endsWith("/status"))
        ? { kind: "status", afterMs: 5, status: refused === "all" ? 500 : 403 }
        : calm.request(request, timeoutMs),
  };
  const world = new SmallWorld([place.branchID], 1, { strictSpec }, weather);
  world.declare(0, place);
  await world.settle(1);
  await world.clock.advance(60_000);
  const setRefusing = (value: boolean) => {
    refuses = value;
  };
  return { world, setRefusing };
}

describe.each<[string, Refused, string, boolean]>([
  ["no writes", "all", "all fields", false],
  ["no writes", "all", "the fields of the specification", true],
  ["no status", "status", "all fields", false],
  ["no status", "status", "the fields of the specification", true],
])("while the API server takes %s (%s), at a service that shows %s,", (_what, refused, _fields, strictSpec) => {
  it.each<[string, (world: SmallWorld) => void, number]>([
    ["a size", (world) => world.edit(0, { computeUnits: { min: 1, max: 2 } }), 1],
    ["a time", (world) => world.edit(0, { scaleToZero: { enabled: true, after: "10m" } }), 1],
    ["a deletion", (world) => world.remove(0), 1],
    ["a restart", (world) => world.annotate(0, "restartedAt", "now"), 1],
    ["another Compute", (world) => world.declare(1, { ...place, type: "read_only" }), 1],
  ])("%s is not sent more than once", async (_change, change, most) => {
    const { world, setRefusing } = await settled(refused, strictSpec);
    await using _ = world;
    const { length } = world.writes;
    change(world);
    setRefusing(true);
    await world.clock.advance(600_000);
    expect(world.writes.slice(length).length).toBeLessThanOrEqual(most);
    setRefusing(false);
    await world.clock.advance(120_000);
    expect(world.writes.slice(length)).toHaveLength(1);
  });
});
