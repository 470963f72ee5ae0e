import { describe, expect, it } from "vitest";
import { fleetOf, keyOf, signatureIn } from "../../src/operator/resources/signature.ts";
import type { JsonObject } from "../simulation/api-server/objects.ts";
import { type Cluster, Clusters } from "../simulation/fleet/clusters.ts";
import { isReady } from "../support/is-ready.ts";

const primaries = 20;
const replicas = 20;
const members = 10;
const all = primaries + replicas + members;
const branches = Array.from({ length: primaries }, (_, n) => `br-${n}`);
const former = { adopt: { former: true } };

/** 50 Computes, ten of them members of pools, as they stand in Git. */
function applyAll(cluster: Cluster, adopt: JsonObject, adoptFormer: boolean): void {
  for (let n = 0; n < primaries; n += 1) cluster.apply(`primary-${n}`, { branchID: `br-${n}`, ...adopt });
  for (let n = 0; n < replicas; n += 1)
    cluster.apply(`replica-${n}`, { branchID: `br-${n}`, type: "read_only", ...adopt });
  const template = { projectID: "shop", branchID: "br-0" };
  for (const name of ["web", "jobs"]) cluster.pool(name, { replicas: members / 2, adoptFormer, template });
}

const allReady = (cluster: Cluster, count: number) => () =>
  cluster.computes().length === count && cluster.computes().every(isReady);

/** A fleet of 50 that stands and has been at rest, and whose cluster is lost. */
async function lostFleet(world: Clusters): Promise<{ lost: Cluster; ids: string[] }> {
  const lost = world.cluster({ fleet: "prod" });
  applyAll(lost, former, true);
  await world.until("the first cluster ready", allReady(lost, all));
  await world.clock.advance(60_000);
  const ids = world.endpoints.map(({ id }) => id).toSorted();
  expect(ids).toHaveLength(all);
  await lost.stop();
  world.host.calls.length = 0;
  return { lost, ids };
}

const idsIn = (world: Clusters) => world.endpoints.map(({ id }) => id).toSorted();

describe("a signature", () => {
  it("names fleet, key and uid, in at most 64 characters", async () => {
    await using world = new Clusters();
    const cluster = world.cluster({ fleet: "prod" });
    cluster.apply("db", {});
    await world.until("ready", allReady(cluster, 1));
    const { metadata, status } = cluster.compute("db");
    const [endpoint] = world.endpoints;
    const uid = metadata.uid.replaceAll("-", "");
    expect(endpoint?.name).toBe(`k8s-${fleetOf("prod")}-${keyOf({ metadata })}-${uid}`);
    expect(endpoint?.name?.length).toBeLessThanOrEqual(64);
    expect(signatureIn(endpoint?.name)).toEqual({
      fleet: fleetOf("prod"),
      key: keyOf({ metadata }),
      uid: metadata.uid,
    });
    expect(status.proof).toMatchObject({ endpointID: endpoint?.id, by: "signature" });
    cluster.remove("db");
    await world.until("deleted", () => world.endpoints.length === 0);
  });
});

describe("a cluster that is lost under 50 Computes and made again from Git", () => {
  it("a cluster made again has the same endpoints with former and the same fleet: one PATCH of the name each, and no other write", async () => {
    await using world = new Clusters({ branches });
    const { lost, ids } = await lostFleet(world);
    const rebuilt = world.cluster({ fleet: "prod" });
    applyAll(rebuilt, former, true);
    await world.until("the new cluster ready", allReady(rebuilt, all));
    await world.clock.advance(120_000);
    expect(allReady(rebuilt, all)()).toBe(true);
    expect(idsIn(world)).toEqual(ids);
    expect(world.endpointWrites.map(({ method }) => method)).toEqual(Array.from({ length: all }, () => "PATCH"));
    expect(world.endpointWrites.map(({ id }) => id).toSorted()).toEqual(ids);
    for (const { body } of world.endpointWrites) {
      expect(body).toEqual({
        endpoint: { name: expect.stringMatching(/^k8s-[0-9a-f]{8}-[0-9a-f]{16}-[0-9a-f]{32}$/) },
      });
    }
    for (const { metadata, status } of rebuilt.computes()) {
      expect(status.endpointID).toBe(lost.compute(metadata.name).status.endpointID);
    }
    expect(rebuilt.events().filter((event) => event.startsWith("Normal Adopted"))).toHaveLength(all);
  }, 120_000);

  it("takes over and deletes nothing without former, and says what it does instead", async () => {
    await using world = new Clusters({ branches });
    const { ids } = await lostFleet(world);
    const rebuilt = world.cluster({ fleet: "prod" });
    applyAll(rebuilt, {}, false);
    await world.until("replicas ready", () => rebuilt.computes().filter(isReady).length === replicas);
    await world.clock.advance(60_000);
    expect(idsIn(world)).toEqual(expect.arrayContaining(ids));
    expect(world.endpoints).toHaveLength(all + replicas);
    expect(new Set(world.endpointWrites.map(({ method }) => method))).toEqual(new Set(["POST"]));
    expect(rebuilt.said("primary-3")).toMatch(
      /^PrimaryExists: .*former Compute of this fleet.*not taken over.*\{former: true\}/,
    );
    expect(rebuilt.said("web-3")).toMatch(
      /^FormerMembers: .*no other is created.*adoptFormer: true on ComputePool web/,
    );
    const warnings = rebuilt.events().filter((event) => event.startsWith("Warning Creating"));
    expect(warnings).toHaveLength(replicas);
    expect(warnings[0]).toMatch(/Another endpoint is created beside ep-.*, created by a former Compute/);
    const status = rebuilt.connectionStatus();
    expect(status["orphanedEndpointCount"]).toBe(all);
    expect(status["orphanedEndpoints"]).toEqual(ids.slice(0, 20).map((id) => ({ id, projectID: "shop" })));
    expect(await rebuilt.metric("orphaned_endpoints")).toBe(all);
  }, 120_000);

  it("takes over and deletes nothing in another fleet, and says what it does instead", async () => {
    await using world = new Clusters({ branches });
    const { ids } = await lostFleet(world);
    const rebuilt = world.cluster({ fleet: "staging" });
    applyAll(rebuilt, former, true);
    await world.until("replicas ready", () => rebuilt.computes().filter(isReady).length === replicas + members);
    await world.clock.advance(60_000);
    expect(idsIn(world)).toEqual(expect.arrayContaining(ids));
    expect(new Set(world.endpointWrites.map(({ method }) => method))).toEqual(new Set(["POST"]));
    expect(rebuilt.said("primary-3")).toMatch(/^PrimaryExists: .*in another fleet, and is not taken over/);
    expect(rebuilt.events().filter((event) => /^Warning Creating .*in another fleet/.test(event))).toHaveLength(
      replicas + members,
    );
    // The other fleet's endpoints are no orphans of this one.
    expect(rebuilt.connectionStatus()["orphanedEndpoints"]).toBeUndefined();
  }, 120_000);

  it("creates nothing where the operator runs without a fleet and a Compute asks for its former", async () => {
    await using world = new Clusters();
    const cluster = world.cluster();
    cluster.apply("db", { type: "read_only", ...former });
    await world.clock.advance(30_000);
    expect(cluster.said("db")).toMatch(/^AdoptionRefused: .*--fleet/);
    expect(world.endpointWrites).toEqual([]);
  });
});

describe("two clusters with one fleet and the same manifests", () => {
  it("leave the other's endpoint also where the deletion was planned from a list of before", async () => {
    await using world = new Clusters();
    const first = world.cluster({ fleet: "prod" });
    first.apply("db", former);
    await world.until("the first cluster ready", allReady(first, 1));
    await world.clock.advance(60_000);
    const lists = () => world.host.calls.filter(({ method, path }) => method === "GET" && path.endsWith("/endpoints"));
    const before = lists().length;
    while (lists().length === before) await world.clock.advance(100);
    // Now the first cluster's operator lists again in half a minute.
    const second = world.cluster({ fleet: "prod" });
    second.apply("db", former);
    await world.until("taken over", allReady(second, 1), 20);
    const ids = idsIn(world);
    first.remove("db");
    await world.until("let go", () => first.findCompute("db") === undefined);
    expect(idsIn(world)).toEqual(ids);
    expect(world.endpointWrites.filter(({ method }) => method === "DELETE")).toEqual([]);
    expect(first.events().some((event) => /Released .*signature of another Compute/.test(event))).toBe(true);
    expect(allReady(second, 1)()).toBe(true);
  });

  it("delete nothing in ten minutes, and the conflict is said on both sides", async () => {
    await using world = new Clusters({ branches });
    const first = world.cluster({ fleet: "prod" });
    applyAll(first, former, true);
    await world.until("the first cluster ready", allReady(first, all));
    await world.clock.advance(60_000);
    const ids = idsIn(world);
    const second = world.cluster({ fleet: "prod" });
    applyAll(second, former, true);
    await world.clock.advance(600_000);
    expect(idsIn(world)).toEqual(ids);
    expect(world.endpointWrites.filter(({ method }) => method === "DELETE")).toEqual([]);
    expect(allReady(second, all)()).toBe(true);
    expect(second.events().filter((event) => /Adopted .*another cluster/.test(event))).toHaveLength(all);
    for (const { metadata } of first.computes()) {
      expect(first.said(metadata.name)).toMatch(/^Conflict: .*signature of another Compute/);
    }
    // What is let go of here stays there.
    first.remove("replica-0");
    await world.until("let go", () => first.findCompute("replica-0") === undefined);
    expect(idsIn(world)).toEqual(ids);
    expect(first.events().some((event) => /Released .*signature of another Compute/.test(event))).toBe(true);
    // A new operator process remembers nothing, and sends nothing either.
    await first.stop();
    world.host.calls.length = 0;
    first.start();
    await world.clock.advance(60_000);
    expect(world.endpointWrites).toEqual([]);
    expect(first.said("replica-1")).toMatch(/^Conflict/);
  }, 120_000);
});

describe("a fleet that is given another name", () => {
  it("a renamed fleet has its signatures written over in the background: one PATCH each, and every Compute Ready throughout", async () => {
    await using world = new Clusters({ branches });
    const cluster = world.cluster();
    for (let n = 0; n < 5; n += 1) cluster.apply(`replica-${n}`, { type: "read_only" });
    cluster.apply("reported", { type: "read_only", driftPolicy: "Report" });
    await world.until("ready", allReady(cluster, 6));
    for (const [fleet, was] of [
      ["prod", undefined],
      ["live", fleetOf("prod")],
    ] as const) {
      await cluster.stop();
      world.host.calls.length = 0;
      cluster.start({ fleet });
      for (let second = 0; second < 60; second += 1) {
        await world.clock.advance(1000);
        expect(cluster.computes().filter((one) => !isReady(one))).toEqual([]);
      }
      expect(world.endpointWrites.map(({ method }) => method)).toEqual(Array.from({ length: 5 }, () => "PATCH"));
      const reported = cluster.compute("reported").status.endpointID;
      for (const { id, name } of world.endpoints) {
        expect(signatureIn(name)?.fleet).toBe(id === reported ? undefined : fleetOf(fleet));
        expect(was === undefined || signatureIn(name)?.fleet !== was).toBe(true);
      }
    }
    // Whatever fleet signed it, our uid proves it ours.
    cluster.remove("reported");
    await world.until("deleted", () => world.endpoints.length === 5);
  });

  it("costs a settled fleet not one call more", async () => {
    const calls: number[] = [];
    for (const fleet of [undefined, "prod"]) {
      await using world = new Clusters({ branches });
      const cluster = world.cluster({ fleet });
      applyAll(cluster, fleet === undefined ? {} : former, fleet !== undefined);
      await world.until("ready", allReady(cluster, all));
      await world.clock.advance(120_000);
      world.host.calls.length = 0;
      const versions = cluster.server.store.revision;
      await world.clock.advance(600_000);
      calls.push(world.host.calls.length);
      expect(cluster.server.store.revision).toBe(versions);
    }
    expect(calls[1]).toBe(calls[0]);
  }, 120_000);
});
