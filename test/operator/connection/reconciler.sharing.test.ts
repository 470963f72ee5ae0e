import { describe, expect, test } from "vitest";
import { conditionOf } from "../../../src/operator/objects/conditions-of.ts";
import { refusal } from "../../support/scripted-service.ts";
import { ours, setUp } from "./setting.ts";

const says = ({ status }: ReturnType<typeof setUp>) => conditionOf(status() ?? {}, "Ready")?.message;

describe("the status of a connection that shards share", () => {
  const at = { observedGeneration: 1, lastTransitionTime: "2026-01-01T00:00:00Z" };
  const other = { type: "Ready", status: "False", reason: "Unreachable", message: "as another sees it", ...at };
  test("a shared status is written over ever more rarely where another shard sees the service differently", async () => {
    const world = setUp();
    const { clock } = world.cluster;
    await world.reconcile();
    const rewrittenAt: number[] = [];
    for (let second = 0; second <= 3600; second += 1) {
      world.setStatus({ ...world.status(), conditions: [other] });
      await world.reconcile();
      if (says(world) !== other.message) rewrittenAt.push(second);
      await clock.advance(1000);
    }
    expect(rewrittenAt).toEqual([10, 20, 60, 220, 860, 3420]);
  });

  test("a shared status is written over within ten seconds where a request of a process that died takes effect late", async () => {
    const world = setUp();
    await world.reconcile();
    world.restart();
    await world.reconcile();
    world.setStatus({ ...world.status(), conditions: [other] });
    const { uid = "" } = world.connectionsNow()[0]?.metadata ?? {};
    const { requeueAfterMs } = await world.reconciler().reconcile(uid);
    expect([requeueAfterMs, says(world)]).toEqual([10_000, other.message]);
    await world.cluster.clock.advance(10_000);
    await world.reconcile();
    expect(says(world)).toBe("The service accepts the API key.");
  });

  test("a shared status is written again if it was cleared, or if this shard sees a change", async () => {
    const world = setUp();
    await world.reconcile();
    const before = says(world);
    world.setStatus({});
    await world.reconcile();
    expect(says(world)).toBe(before);
    world.setStatus({ ...world.status(), conditions: [other] });
    world.service.script = () => refusal(401);
    await world.cluster.clock.advance(700_000);
    await world.reconcile();
    await world.cluster.clock.advance(5000);
    await world.reconcile();
    expect(says(world)).toContain("The service refused the API key");
  });
});

test("a connection goes with the CRDs: where that of Computes is gone, nothing uses it any more", async () => {
  const { reconcile, use, remove, connectionsNow, cluster } = setUp();
  use();
  await reconcile();
  remove(`${ours}/serviceconnections/default`);
  remove("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/computes.compute-operator.dev");
  await cluster.clock.advance(1000);
  await reconcile();
  expect(connectionsNow()).toEqual([]);
});

describe("after a conflict on a finalizer", () => {
  const conflicting = (path: string) => {
    const world = setUp();
    world.use();
    const conflicts = { count: 0 };
    world.cluster.fate = (request) => {
      if (request.method !== "PATCH" || !request.path.endsWith(path)) return undefined;
      conflicts.count += 1;
      return { kind: "status", afterMs: 0, status: 409 };
    };
    return { world, conflicts };
  };
  const endsWell = async (world: ReturnType<typeof setUp>) => {
    expect(says(world)).toBeUndefined();
    world.cluster.fate = () => undefined;
    await world.reconcile();
    await world.cluster.clock.settle();
    await world.reconcile();
    expect(says(world)).toBe("The service accepts the API key.");
    expect(world.finalizersOf().secret).toEqual(["compute-operator.dev/in-use"]);
  };

  test("no session sends anything where the finalizer is that of a Secret, and the reconcile is retried", async () => {
    const { world, conflicts } = conflicting("/secrets/service");
    await expect(world.reconcile()).rejects.toMatchObject({ status: 409 });
    await world.cluster.clock.settle();
    await expect(world.reconcile()).rejects.toMatchObject({ status: 409 });
    expect(conflicts.count).toBe(2);
    await endsWell(world);
  });

  test("no session sends anything where the finalizer is that of a connection, whose version is tried again if it is the newest", async () => {
    const { world, conflicts } = conflicting("/serviceconnections/default");
    const { uid } = world.connectionsNow()[0]?.metadata ?? {};
    const once = () => world.reconciler().reconcile(uid ?? "");
    expect(await once()).toEqual({ requeueAfterMs: 2000 });
    expect(await once()).toEqual({ requeueAfterMs: 2000 });
    expect(conflicts.count).toBe(1);
    await world.cluster.clock.advance(10_000);
    expect(await once()).toEqual({ requeueAfterMs: 2000 });
    expect(conflicts.count).toBe(2);
    await world.cluster.clock.advance(10_000);
    await endsWell(world);
  });
});
