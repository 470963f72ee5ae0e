import { Readable } from "node:stream";
import { expect, it } from "vitest";
import { stringify } from "yaml";
import { applyCommand } from "../../src/cli/commands/command.ts";
import { systemPrograms } from "../../src/cli/commands/programs.ts";
import { type Cluster, Clusters } from "../simulation/fleet/clusters.ts";
import { isReady } from "../support/is-ready.ts";
import { manifest } from "./support/manifests.ts";
import { goodKey } from "./support/seeded-service.ts";

const prod = { fleet: "prod" };
const former = { adopt: { former: true } };
const replica = { type: "read_only" };

/** Runs `apply` for Computes of namespace shop, without a cluster; answers status and output. */
async function applied(world: Clusters, computes: Record<string, object>, ...flags: string[]) {
  const texts = Object.entries(computes).map(([name, spec]) => stringify(manifest(name, { ...spec })));
  const lines: string[] = [];
  let status: number | undefined;
  const given = ["-f", "-", "--yes", "--namespace", "shop", "--base-url", "http://service.test/api/v2", ...flags];
  const running = applyCommand(given, {
    clock: world.clock,
    stdout: (line) => lines.push(line),
    stderr: (line) => lines.push(line),
    terminal: false,
    stdoutTerminal: false,
    stdin: Readable.from([Buffer.from(texts.join("---\n"))]),
    env: { COMPUTE_OPERATOR_API_KEY: goodKey },
    signal: new AbortController().signal,
    programs: systemPrograms({}),
    serviceTransport: world.network,
  }).then((ended) => (status = ended));
  await world.until("apply has ended", () => status !== undefined);
  await running;
  return { status, out: lines.join("\n") };
}

const allReady = (cluster: Cluster, count: number) => () =>
  cluster.computes().length === count && cluster.computes().every(isReady);

it("what apply --fleet made is taken over by an operator of the fleet, by one PATCH of the name each", async () => {
  await using world = new Clusters();
  const computes = { db: { ...former }, reader: { ...replica, ...former } };
  expect(await applied(world, computes, "--fleet", "prod")).toMatchObject({ status: 0 });
  const ids = world.endpoints.map(({ id }) => id).toSorted();
  world.host.calls.length = 0;
  const cluster = world.cluster(prod);
  for (const [name, spec] of Object.entries(computes)) cluster.apply(name, spec);
  await world.until("ready", allReady(cluster, 2));
  expect(world.endpoints.map(({ id }) => id).toSorted()).toEqual(ids);
  expect(world.endpointWrites.map(({ method }) => method)).toEqual(["PATCH", "PATCH"]);
});

it("apply sends nothing for the manifests of a live fleet, with and without --fleet", async () => {
  await using world = new Clusters();
  const computes = { db: {}, reader: replica };
  const cluster = world.cluster(prod);
  for (const [name, spec] of Object.entries(computes)) cluster.apply(name, { ...spec });
  await world.until("ready", allReady(cluster, 2));
  await world.clock.advance(60_000);
  world.host.calls.length = 0;
  const placed = await applied(world, computes, "--fleet", "prod");
  expect(placed).toMatchObject({ status: 0, out: expect.stringContaining("2 unchanged") });
  expect(placed.out).toContain("(kept by the operator of fleet #");
  for (const flags of [[], ["--fleet", "other"]]) {
    // One after another on one clock.
    const run = await applied(world, computes, ...flags);
    expect(run).toMatchObject({ status: 1, out: expect.stringContaining("Set --fleet to the name of that fleet") });
  }
  expect(await applied(world, computes, "--fleet", "prod", "--prune")).toMatchObject({ status: 0 });
  expect(world.endpointWrites).toEqual([]);
});
