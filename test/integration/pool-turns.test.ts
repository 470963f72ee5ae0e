import { describe, expect, test } from "vitest";
import { conditionOf, shownReason } from "../../src/operator/objects/conditions-of.ts";
import { SmallWorld } from "./support/small-world.ts";

const root = "/apis/compute-operator.dev/v1alpha1/namespaces/default";
const pools = `${root}/computepools`;

interface PoolSpec {
  replicas?: number;
  maxUnavailable?: number;
  template?: Record<string, unknown>;
}

/** Makes, or changes, the pool `db`, whose members are the Computes `db-0`, `db-1` and so on. */
function declare(world: SmallWorld, { replicas = 4, template = {}, ...more }: PoolSpec): void {
  const size = { computeUnits: { min: 1, max: 1 } };
  const spec = { replicas, ...more, template: { projectID: "shop", branchID: "br-0-a", ...size, ...template } };
  const pool = { apiVersion: "compute-operator.dev/v1alpha1", kind: "ComputePool", metadata: { name: "db" }, spec };
  const found = world.server.handle({ method: "GET", path: `${pools}/db` });
  if (found.status === 404) world.send("POST", pools, pool);
  else world.send("PUT", `${pools}/db`, { ...world.send("GET", `${pools}/db`), spec });
}

/** From now on, for each write: how many members are changing at the service once it arrives, its own included. */
function changingAt(world: SmallWorld): number[] {
  const counts: number[] = [];
  world.host.instead = ({ method, path }) => {
    if (method === "GET" || method === "DELETE") return undefined;
    const busy = world.endpoints.filter(({ id, pending_state }) => pending_state !== undefined && !path.includes(id));
    counts.push(busy.length + 1);
    return undefined;
  };
  return counts;
}

async function until(world: SmallWorld, isDone: () => boolean): Promise<void> {
  for (let waited = 0; waited < 300 && !isDone(); waited++) await world.clock.advance(1000);
}

const sizes = (world: SmallWorld) => world.endpoints.map((one) => one.autoscaling_limit_max_cu);
function annotatePool(world: SmallWorld, name: string, value: string): void {
  const object = world.send("GET", `${pools}/db`);
  object.metadata.annotations = { ...object.metadata.annotations, [`compute-operator.dev/${name}`]: value };
  world.send("PUT", `${pools}/db`, object);
}

const poolOf = (world: SmallWorld) => world.send("GET", `${pools}/db`);

async function running(seed: number, spec: PoolSpec = {}): Promise<SmallWorld> {
  const world = new SmallWorld(["br-0-a", "br-0-b"], seed, { timeScale: 1, projectLock: false });
  declare(world, spec);
  await world.clock.advance(40_000);
  await world.settle(spec.replicas ?? 4);
  return world;
}

describe("a pool whose template changes", () => {
  test("members of a pool are resized one after another, each once", async () => {
    await using world = await running(1);
    const changing = changingAt(world);
    declare(world, { template: { computeUnits: { min: 2, max: 2 } } });
    await until(world, () => sizes(world).every((size) => size === 2));
    expect(changing).toEqual([1, 1, 1, 1]);
    await world.settle(4);
    await world.clock.advance(2000);
    expect(conditionOf(poolOf(world).status, "Ready")).toMatchObject({ status: "True" });
    expect(poolOf(world).status.updatedReplicas).toBe(4);
    expect(shownReason(world.compute(3))).not.toBe("WaitingForTurn");
  });

  test.each([
    [2, [1, 2]],
    [4, [1, 2, 3, 4]],
  ])("with maxUnavailable %i that many members of a pool are changed at a time, and no more", async (most, seen) => {
    await using world = await running(2, { maxUnavailable: most });
    const changing = changingAt(world);
    declare(world, { maxUnavailable: most, template: { computeUnits: { min: 2, max: 2 } } });
    await until(world, () => sizes(world).every((size) => size === 2));
    expect(changing).toHaveLength(4);
    expect(Math.max(...changing)).toBe(most);
    expect(changing.slice(0, seen.length)).toEqual(seen);
  });

  test("a restart of the pool restarts its members one after another, each once", async () => {
    await using world = await running(6);
    const changing = changingAt(world);
    annotatePool(world, "restartedAt", "now");
    await until(world, () => poolOf(world).status.restartedAt === "now");
    expect(changing).toEqual([1, 1, 1, 1]);
    expect(world.writes.filter((write) => write.endsWith("/restart"))).toHaveLength(4);
    expect([0, 1, 2, 3].map((index) => world.compute(index).status.restartedAt)).toEqual(Array(4).fill("now"));
  });

  test("drift of all members at once is corrected one after another", async () => {
    await using world = await running(7);
    const changing = changingAt(world);
    for (const { id } of world.endpoints) {
      const endpoint = { autoscaling_limit_min_cu: 2, autoscaling_limit_max_cu: 2 };
      world.console("PATCH", `/projects/shop/endpoints/${id}`, { endpoint });
    }
    await until(world, () => sizes(world).every((size) => size === 1));
    expect(changing).toEqual([1, 1, 1, 1]);
  });

  test.each([1, 2, 3])(
    "an operator that begins amid a roll waits for a list, and goes on one after another",
    async (at) => {
      await using world = await running(8);
      const changing = changingAt(world);
      declare(world, { template: { computeUnits: { min: 2, max: 2 } } });
      for (let waited = 0; waited < 3000 && changing.length < at; waited++) await world.clock.advance(100);
      await world.restart();
      await until(world, () => sizes(world).every((size) => size === 2));
      expect(changing).toEqual([1, 1, 1, 1]);
    },
  );

  test("a pool whose members wait for a window is ready, and says how many wait", async () => {
    const disruption = { windows: [{ from: "20:00", to: "21:00" }] };
    await using world = await running(11, { template: { disruption, scaleToZero: { enabled: false } } });
    const before = world.writes.length;
    const template = { disruption, scaleToZero: { enabled: false }, computeUnits: { min: 2, max: 2 } };
    declare(world, { template });
    await world.clock.advance(60_000);
    expect(conditionOf(poolOf(world).status, "Ready")).toMatchObject({
      status: "True",
      message: "All replicas are ready. Changes of 4 of them wait for a window (their status.nextWindow).",
    });
    expect(poolOf(world).status.updatedReplicas).toBe(0);
    expect(world.writes.slice(before)).toEqual([]);
  });

  test("a Compute that names the pool as its owner, and is none of its members, keeps no member waiting", async () => {
    await using world = await running(10);
    const elsewhere = { apiVersion: "v1", kind: "Namespace", metadata: { name: "elsewhere" } };
    world.send("POST", "/api/v1/namespaces", elsewhere);
    const { uid } = poolOf(world).metadata;
    const owner = {
      apiVersion: "compute-operator.dev/v1alpha1",
      kind: "ComputePool",
      name: "db",
      uid,
      controller: true,
    };
    const spec = { projectID: "shop", branchID: "br-0-b", connectionRef: { name: "none" } };
    for (const [namespace, name] of [
      ["default", "db-main"],
      ["elsewhere", "db-0"],
    ]) {
      const metadata = { name, namespace, ownerReferences: [owner] };
      const object = { apiVersion: owner.apiVersion, kind: "Compute", metadata, spec };
      world.send("POST", `${root.replace("default", namespace ?? "")}/computes`, object);
    }
    await world.clock.advance(60_000);
    const changing = changingAt(world);
    declare(world, { template: { computeUnits: { min: 2, max: 2 } } });
    await until(world, () => sizes(world).every((size) => size === 2));
    expect(changing).toEqual([1, 1, 1, 1]);
  });

  test("a change that cuts no connection goes to all members at once", async () => {
    await using world = await running(3);
    const before = world.writes.length;
    declare(world, { template: { scaleToZero: { enabled: false } } });
    await world.clock.advance(1500);
    expect(world.writes.slice(before).map((write) => write.split(" ")[0])).toEqual(Array(4).fill("PATCH"));
  });

  test("a pool says which members change and which wait, and is not ready until all are in step", async () => {
    await using world = await running(4);
    declare(world, { template: { computeUnits: { min: 2, max: 2 } } });
    await world.clock.advance(1500);
    const reasons = [0, 1, 2, 3].map((index) => shownReason(world.compute(index)) ?? "");
    expect(reasons.filter((reason) => reason === "WaitingForTurn").length).toBeGreaterThan(1);
    for (const index of [0, 1, 2, 3]) {
      const { status } = world.compute(index);
      if (shownReason(world.compute(index)) !== "WaitingForTurn") continue;
      expect(["Ready", "Synced", "Reconciling"].map((type) => conditionOf(status, type)?.status)).toEqual([
        "True",
        "False",
        undefined,
      ]);
    }
    expect(conditionOf(poolOf(world).status, "Ready")?.status).toBe("False");
    expect(poolOf(world).status.updatedReplicas).toBeLessThan(3);
  });

  test("members wait for one whose change the service refuses, and go on once it takes that", async () => {
    await using world = await running(5);
    const before = world.writes.length;
    const refusal = JSON.stringify({ request_id: "r", code: "", message: "this size is not allowed" });
    const headers = { "content-type": "application/json" };
    world.host.instead = ({ method }) => (method === "PATCH" ? { status: 400, headers, body: refusal } : undefined);
    declare(world, { template: { computeUnits: { min: 2, max: 2 } } });
    await world.clock.advance(30_000);
    expect(world.writes.slice(before)).toHaveLength(1);
    expect(conditionOf(poolOf(world).status, "Ready")).toMatchObject({
      status: "False",
      reason: "Rejected",
      message: expect.stringContaining("1 of 4 replicas are not ready: "),
    });
    const changing = changingAt(world);
    declare(world, { template: { computeUnits: { min: 3, max: 3 } } });
    await until(world, () => sizes(world).every((size) => size === 3));
    expect(changing).toEqual([1, 1, 1, 1]);
  });
});
