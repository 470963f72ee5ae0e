import { describe, expect, test } from "vitest";
import { ClusterError } from "../../../src/operator/kube/errors.ts";
import { Reconciler } from "../../../src/operator/life/reconciler.ts";
import { type Compute, computeKind } from "../../../src/operator/resources/compute.ts";
import { compute } from "../../support/builders.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";

const stale = (about = "shop") =>
  new ClusterError({
    status: 409,
    reason: "Conflict",
    message: "",
    about: { kind: computeKind.kind, namespace: compute().metadata.namespace, name: about },
  });

/** Computes in a cache and at the API server, and their reconciler. */
function setUp() {
  const clock = new VirtualClock();
  const self = compute();
  const version = (resourceVersion: string): Compute => ({ ...self, metadata: { ...self.metadata, resourceVersion } });
  const world: {
    cached: Compute | undefined;
    standing: Compute | undefined;
    asked: number;
    isSelected: boolean;
    refusal?: Error;
    /** The work that begins once the object is gone fails. */
    goneFails?: Error;
  } = {
    cached: version("1"),
    standing: version("1"),
    asked: 0,
    isSelected: true,
  };
  const forgotten: string[] = [];
  const gone: (number | undefined)[] = [];
  const reconciler = new Reconciler<Compute, { seen: string[]; relistedAt: number; after?: number }>({
    cluster: {
      get: async () => {
        world.asked += 1;
        if (world.refusal !== undefined) throw world.refusal;
        return world.standing;
      },
    },
    clock,
    kindOf: () => computeKind,
    newest: () => world.cached,
    selects: () => world.isSelected,
    remember: ({ relistedAt }) => ({ seen: [], relistedAt }),
    onVersion: ({ metadata }, memory) => memory.seen.push(metadata.resourceVersion),
    gone: async (_, memory) => {
      gone.push(memory?.seen.length);
      if (world.goneFails !== undefined) throw world.goneFails;
    },
    forgotten: (uid) => forgotten.push(uid),
  });
  const { uid, name } = self.metadata;
  const given: string[] = [];
  const take = (error?: Error) =>
    reconciler.reconcile(uid, async ({ metadata }) => {
      given.push(metadata.resourceVersion);
      if (error !== undefined) throw error;
      return {};
    });
  return { clock, world, version, reconciler, uid, name, given, take, forgotten, gone };
}

describe("a version that a patch found outdated", () => {
  test("an outdated version is reconciled no more, and the next one at once", async () => {
    const { world, version, take, given, name, clock } = setUp();
    expect(await take(stale(name))).toEqual({ requeueAfterMs: 2000 });
    await clock.advance(2000);
    expect(await take()).toEqual({ requeueAfterMs: 2000 });
    world.cached = version("2");
    expect(await take()).toEqual({});
    expect([given, world.asked]).toEqual([["1", "2"], 0]);
  });

  test("an outdated version is reconciled again where the API server has no newer one, asked ten seconds later", async () => {
    const { world, version, take, given, name, clock } = setUp();
    await take(stale(name));
    world.standing = version("2");
    await clock.advance(10_000);
    expect(await take()).toEqual({ requeueAfterMs: 2000 });
    world.standing = version("1");
    await clock.advance(9000);
    await take();
    expect([given, world.asked]).toEqual([["1"], 1]);
    await clock.advance(1000);
    expect(await take()).toEqual({});
    expect([given, world.asked]).toEqual([["1", "1"], 2]);
  });

  test("an outdated version is reconciled again where the API server does not let it be asked for", async () => {
    const { world, take, given, name, clock } = setUp();
    await take(stale(name));
    world.refusal = new ClusterError({ status: 403, reason: "Forbidden", message: "" });
    await clock.advance(10_000);
    expect(await take()).toEqual({});
    expect(given).toEqual(["1", "1"]);
    world.refusal = new ClusterError({ status: 500, reason: "InternalError", message: "" });
    await take(stale(name));
    await clock.advance(10_000);
    await expect(take()).rejects.toThrow(world.refusal);
  });

  test("no version is outdated by a conflict on another object", async () => {
    const { take, given } = setUp();
    await expect(take(stale("another"))).rejects.toThrow(ClusterError);
    await take();
    expect(given).toEqual(["1", "1"]);
  });

  test("an outdated version is seen all the same", async () => {
    const { take, reconciler, uid, name } = setUp();
    await take(stale(name));
    await take();
    expect(reconciler.known(uid)?.seen).toEqual(["1", "1"]);
  });
});

describe("a memory", () => {
  test.each<[string, (world: ReturnType<typeof setUp>["world"]) => void]>([
    ["gone", (world) => (world.cached = undefined)],
    ["another process's", (world) => (world.isSelected = false)],
  ])("a memory ends with an object that is %s", async (_, change) => {
    const { world, take, given, reconciler, uid, forgotten, name } = setUp();
    await take(stale(name));
    change(world);
    expect(await take()).toEqual({});
    expect([reconciler.known(uid), given, forgotten]).toEqual([undefined, ["1"], [uid]]);
    Object.assign(world, setUp().world);
    await take();
    expect(given).toEqual(["1", "1"]);
  });

  test("a memory stays until the work that begins with the end of its object is done", async () => {
    const { world, take, reconciler, uid, gone } = setUp();
    await take();
    world.cached = undefined;
    world.goneFails = new Error("no answer");
    await expect(take()).rejects.toThrow("no answer");
    expect(reconciler.known(uid)?.seen).toEqual(["1"]);
    delete world.goneFails;
    expect(await take()).toEqual({});
    expect(await take()).toEqual({});
    expect([gone, reconciler.known(uid)]).toEqual([[1, 1, undefined], undefined]);
  });

  test("a memory needs a list from after a gap of the watch, made before or after it", async () => {
    const { clock, reconciler, uid } = setUp();
    const before = reconciler.memoryOf(uid);
    await clock.advance(500);
    const now = clock.monotonic();
    reconciler.relisted((memory, at) => Object.assign(memory, { after: at }));
    expect([before.after, reconciler.memoryOf(uid), reconciler.memoryOf("new").relistedAt]).toEqual([now, before, now]);
  });
});
