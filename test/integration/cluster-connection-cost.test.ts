import { describe, expect, it } from "vitest";
import { isReady } from "../support/is-ready.ts";
import { ClusterWorld, selected } from "./support/cluster-world.ts";

const replica = (namespace: string, name: string, world: ClusterWorld) =>
  world.declare(namespace, name, { type: "read_only", scaleToZero: { enabled: false } });

const count = 1000;
const ids = Array.from({ length: count }, (_, n) => `ep-replica-${n}`);

/** How many calls are sent while a thousand Computes adopt what there is, and in the ten minutes after. */
async function callsOf(namespaces: number): Promise<Record<"adopting" | "settled", number>> {
  await using world = new ClusterWorld({ replicas: ids });
  for (let n = 0; n < namespaces; n += 1) world.namespace(`team-${n}`, selected);
  await world.clock.advance(5000);
  world.host.calls.length = 0;
  for (const [n, endpointID] of ids.entries()) {
    const spec = { type: "read_only", adopt: { endpointID }, deletionPolicy: "Retain" };
    world.declare(`team-${n % namespaces}`, `db-${n}`, spec);
  }
  await world.clock.advance(120_000);
  const ready = ids.filter((_, n) => isReady(world.compute(`team-${n % namespaces}`, `db-${n}`)));
  expect(ready).toHaveLength(count);
  const adopting = world.host.calls.length;
  world.host.calls.length = 0;
  await world.clock.advance(600_000);
  return { adopting, settled: world.host.calls.length };
}

describe("the calls to the service through one ClusterServiceConnection", () => {
  it("the calls are as many for a thousand namespaces as for one with the same Computes", async () => {
    const one = await callsOf(1);
    expect(await callsOf(count)).toEqual(one);
    // One list every thirty seconds; every ten minutes the key's account and its projects.
    expect(one.settled).toBeLessThanOrEqual(23);
  }, 240_000);
});

describe("a namespace with many Computes", () => {
  const ownProjects = Array.from({ length: count }, (_, n) => ({ id: `project-${n}`, branches: [`br-${n}`] }));
  const inOwnProject = (n: number) => ({ projectID: `project-${n}`, branchID: `br-${n}` });

  it.each<[string, typeof ownProjects, (n: number) => Record<string, string>]>([
    ["where all are in one project", [], () => ({})],
    ["where each is in a project of its own", ownProjects, inOwnProject],
  ])(
    "keeps the only write of another namespace waiting for no more than its turn, %s",
    async (_, projects, place) => {
      const connection = { requestBudget: { perMinute: 60, burst: 2 }, allowedProjects: ["*"] };
      await using world = new ClusterWorld({ projects, connection });
      for (const name of ["large", "small"]) world.namespace(name, selected);
      for (let n = 1; n < count; n += 1) world.declare("large", `db-${n}`, { type: "read_only", ...place(n) });
      await world.clock.advance(120_000);
      const creates = () => world.writes.filter((write) => write.startsWith("POST")).length;
      const before = creates();
      // The large one alone uses the budget up, and has work for many minutes more.
      expect(before).toBeGreaterThan(30);
      world.declare("small", "db", { type: "read_only", ...place(0) });
      const began = world.clock.monotonic();
      const link = "compute-operator.dev/endpoint-id";
      await world.until("its write", () => world.compute("small", "db").metadata.annotations?.[link] !== undefined);
      expect(world.clock.monotonic() - began).toBeLessThanOrEqual(10_000);
      await world.clock.advance(60_000);
      expect(creates() - before).toBeGreaterThan(15);
      expect(creates()).toBeLessThan(count);
    },
    240_000,
  );

  it("keeps another's deletion from the brake for no more than its turn", async () => {
    await using world = new ClusterWorld({ settings: { maxDeletesPerMinute: 2 } });
    for (const name of ["large", "small"]) world.namespace(name, selected);
    for (let n = 0; n < 20; n += 1) replica("large", `db-${n}`, world);
    replica("small", "db", world);
    await world.until(
      "all ready",
      () => isReady(world.compute("small", "db")) && isReady(world.compute("large", "db-19")),
    );
    await world.clock.advance(60_000);
    for (let n = 0; n < 20; n += 1) world.remove("large", `db-${n}`);
    await world.clock.advance(5000);
    world.remove("small", "db");
    const began = world.clock.monotonic();
    await world.until("the end", () => world.isGone("small", "db"));
    expect(world.clock.monotonic() - began).toBeLessThanOrEqual(120_000);
    expect(world.isGone("large", "db-19")).toBe(false);
  });
});
