import { describe, expect, test } from "vitest";
import { ClusterError } from "../../../src/operator/kube/errors.ts";
import { finalizers } from "../../../src/operator/resources/names.ts";
import { storedComputes } from "../stored-objects.ts";
import { setUp } from "./reconciling.ts";

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;

describe("a Branch", () => {
  test("a Branch is made, linked and at rest, with one event and no timer", async () => {
    const world = await setUp();
    world.stored();
    await world.run(20 * second);
    expect(world.writes).toEqual(["POST "]);
    expect(world.reason()).toBe("Available");
    expect(world.object().metadata.finalizers).toEqual([finalizers.branch]);
    expect(world.events).toEqual(["shop Normal Created: Created branch default/shop (br-1)."]);
    expect(world.delays.at(-1)).toBeUndefined();
  });

  test.each([
    ["of another selector", { selects: () => false }],
    [
      "that no cache has",
      { cache: { branchByUID: () => undefined, near: () => [], usersOf: () => [], compute: () => undefined } },
    ],
  ])("%s is left alone", async (_, options) => {
    const world = await setUp(options);
    world.stored();
    await world.run(20 * second);
    expect([world.writes, world.reason(), world.delays]).toEqual([[], undefined, [undefined]]);
  });

  test("a Branch that goes and waits for others only is left alone", async () => {
    const world = await setUp();
    world.standing({ metadata: { finalizers: ["example.com/other"] } });
    world.drop();
    await world.run(20 * second);
    expect([world.writes, world.object().metadata.finalizers]).toEqual([[], ["example.com/other"]]);
  });

  test("a Branch that lost its finalizer is given it back, whatever else is to be done", async () => {
    const world = await setUp();
    world.standing({ metadata: { finalizers: [] } });
    await world.run(20 * second);
    expect(world.object().metadata.finalizers).toEqual([finalizers.branch]);
  });
});

test("a reset whose operation fails is a warning and no success, until another value is asked for", async () => {
  const world = await setUp();
  world.standing();
  await world.run(20 * second);
  const ask = (value: string) =>
    world.write([{ op: "add", path: "/metadata/annotations", value: { "compute-operator.dev/resetAt": value } }]);
  const operation = (status: string, error?: string) => [
    { id: "op-one", action: "restore_branch", status, failures_count: 0, error },
  ];
  ask("1");
  world.state.operations = operation("running");
  await world.run(10 * second);
  expect([world.writes, world.reason(), world.object().status.resetAt]).toEqual([
    ["POST br-one/restore"],
    "Resetting",
    "1",
  ]);
  world.state.operations = operation("failed", "the disk is full");
  await world.run(minute);
  expect(world.reason()).toBe("OperationFailed");
  expect(world.events).toEqual([
    "shop Normal Reset: The service resets branch br-one to the head of its parent.",
    expect.stringMatching(/^shop Warning OperationFailed: .*: the disk is full\. Look at the data/u),
  ]);
  ask("2");
  world.state.operations = [];
  await world.run(minute);
  expect(world.reason()).toBe("Available");
  expect(world.writes).toEqual(["POST br-one/restore", "POST br-one/restore"]);
});

describe("another Branch", () => {
  const older = { name: "other", spec: { branchName: "default/shop", parent: { branchName: "absent" } } };

  test("another Branch of the same project wins the claim where it is older", async () => {
    const world = await setUp();
    world.stored(older);
    await world.clock.advance(2 * second);
    world.stored();
    await world.run(20 * second);
    expect(world.reason()).toBe("Conflict");
    expect(world.writes).toEqual([]);
  });

  test.each([
    ["of another project", { projectID: "other" }],
    ["of another service", { connectionRef: { name: "elsewhere" } }],
  ])("%s claims nothing", async (_, spec) => {
    const world = await setUp();
    world.stored({ ...older, spec: { ...older.spec, ...spec } });
    await world.clock.advance(2 * second);
    world.stored();
    await world.run(20 * second);
    expect(world.reason()).toBe("Available");
  });
});

describe("an event", () => {
  const absent = { spec: { parent: { branchName: "absent" } } };

  test("an event tells trouble once, and its end", async () => {
    const world = await setUp();
    world.standing();
    await world.run(20 * second);
    expect(world.events).toEqual([]);
    world.state.refuses = 422;
    world.write([{ op: "add", path: "/spec/protected", value: true }]);
    await world.run(5 * minute);
    expect(world.events).toEqual([expect.stringMatching(/^shop Warning Rejected: The service refused to change/)]);
    world.state.refuses = undefined;
    await world.run(10 * minute);
    expect(world.events.slice(1)).toEqual([expect.stringMatching(/^shop Normal Available: /)]);
  });

  test("an event reports a missing parent, and the create that follows adds its own event alone", async () => {
    const world = await setUp();
    world.stored(absent);
    await world.run(20 * second);
    expect(world.events).toEqual([expect.stringMatching(/^shop Warning BranchNotFound: /)]);
    world.branches.set("br-p", { id: "br-p", name: "absent", current_state: "ready" });
    await world.run(minute);
    expect(world.events.slice(1)).toEqual([expect.stringMatching(/^shop Normal Created: /)]);
  });

  test("the event of an end that was asked for is no warning", async () => {
    const world = await setUp();
    world.stored({ spec: { expiry: { at: "2025-12-31T00:00:00Z" } } });
    await world.run(20 * second);
    expect(world.events).toEqual([expect.stringMatching(/^shop Normal Expired: /)]);
  });

  test("an event of a deletion tells no progress", async () => {
    const world = await setUp();
    world.standing();
    await world.run(20 * second);
    world.drop();
    await world.run(2 * minute);
    expect(world.isGone()).toBe(true);
    expect(world.events).toEqual(["shop Normal Deleted: Deleted branch br-one and its computes."]);
  });
});

describe("the next reconcile", () => {
  test("the next reconcile comes ever later while one reason holds", async () => {
    const world = await setUp();
    world.stored({ spec: { parent: { branchName: "absent" } } });
    await world.run(5 * second);
    expect(world.delays.at(-1)).toBe(5 * second);
    await world.clock.advance(5 * second);
    expect(world.delays.at(-1)).toBe(10 * second);
    await world.clock.advance(10 * second);
    expect(world.delays.at(-1)).toBe(20 * second);
  });

  test("the next reconcile comes with a lease that is due, which is renewed then", async () => {
    const world = await setUp();
    const end = new Date(world.clock.now() + hour).toISOString();
    const lease = { spec: { expiry: { lease: "1h" } }, status: { appliedExpiry: "lease 1h", appliedEnd: end } };
    world.standing(lease, { expires_at: end });
    await world.run(second);
    const due = world.delays.at(-1) ?? 0;
    expect(due).toBeGreaterThan(29 * minute);
    expect(due).toBeLessThan(38 * minute);
    await world.clock.advance(due);
    expect(world.writes).toEqual(["PATCH br-one"]);
  });
});

describe("the definition of Branches", () => {
  const asked = () => {
    const questions: number[] = [];
    return {
      questions,
      uninstalling: () => {
        questions.push(1);
        return Promise.resolve(true);
      },
    };
  };

  test("the definition of Branches that is being deleted lets go of what cannot be deleted at the service", async () => {
    const { uninstalling } = asked();
    const world = await setUp({ uninstalling });
    world.standing({}, { protected: true });
    world.drop();
    await world.run(20 * second);
    expect(world.isGone()).toBe(true);
    expect(world.writes).toEqual([]);
    expect(world.events).toEqual([
      "shop Normal Released: Kept branch br-one, because the definition of Branches is being deleted.",
    ]);
  });

  test("the definition of Branches is not asked about for a Branch that stays, or is paused", async () => {
    const { uninstalling, questions } = asked();
    const world = await setUp({ uninstalling });
    world.standing({}, { protected: true });
    await world.run(20 * second);
    world.write([{ op: "add", path: "/metadata/annotations", value: { "compute-operator.dev/paused": "true" } }]);
    world.drop();
    await world.run(20 * second);
    expect(world.reason()).toBe("Paused");
    expect(questions).toEqual([]);
  });
});

describe("a Compute of the object's name", () => {
  /** A Branch with a Compute of its name, as the watch shows it. */
  async function withCompute(isOwned: boolean) {
    const world = await setUp();
    const { uid } = world.standing().metadata;
    const owner = {
      apiVersion: "compute-operator.dev/v1alpha1",
      kind: "Branch",
      name: "shop",
      uid: isOwned ? uid : "another",
    };
    const computes = storedComputes(world.cluster);
    world.state.compute = computes.create({
      metadata: { ownerReferences: [owner] },
      spec: { branchID: undefined, branchRef: { name: "shop" } },
    });
    return { world, computes };
  }

  test.each([
    ["is deleted with a Branch that owns it", true],
    ["is kept by a Branch that does not own it", false],
  ])("a Compute of the object's name %s", async (_, isOwned) => {
    const { world, computes } = await withCompute(isOwned);
    world.drop();
    await world.run(2 * minute);
    expect(world.isGone()).toBe(true);
    expect(computes.isGone()).toBe(isOwned);
  });

  test("a Compute of the object's name that lost its owner keeps the branch, also while the watch does not show that", async () => {
    const { world, computes } = await withCompute(true);
    computes.write([{ op: "remove", path: "/metadata/ownerReferences" }]);
    world.drop();
    await world.run(minute);
    expect(world.writes).toEqual([]);
    expect([computes.isGone(), world.isGone()]).toEqual([false, false]);
  });
});

test("an edit of the owned Compute by a person is put back with an event on the Compute", async () => {
  let isKept = true;
  const world = await setUp({ storedSpecs: { isKept: () => isKept, answered: () => {} } });
  const { uid } = world.standing({ spec: { compute: {} } }).metadata;
  await world.run(second);
  const computes = storedComputes(world.cluster);
  computes.write([{ op: "add", path: "/spec/disabled", value: true }]);
  world.state.compute = computes.object();
  world.reach.reconcile = () => Promise.resolve({});
  isKept = false;
  const reconciled = world.reconciler.reconcile(uid);
  await world.clock.advance(1000);
  await reconciled;
  expect(world.events.filter((event) => event.includes("DriftCorrected"))).toEqual([
    "Compute shop Normal DriftCorrected: The spec differed from spec.compute of Branch shop and was restored. Change spec.compute there instead.",
  ]);
});

describe("what the API server says of the object", () => {
  test.each([404, 409] as const)(
    "a %s about the owned Compute does not pass for the Branch's own: its reconcile is retried, and says so",
    async (status) => {
      const path = "/apis/compute-operator.dev/v1alpha1/namespaces/default/computes/shop";
      const world = await setUp({ storedSpecs: { isKept: () => false, answered: () => {} } });
      const computes = storedComputes(world.cluster);
      const { uid } = world.standing({ spec: { compute: {} } }).metadata;
      world.reach.reconcile = () => Promise.resolve({});
      const fate = { kind: "status", afterMs: 0, status: 409 } as const;
      world.cluster.fate = (request) => {
        if (!request.path.startsWith(path) || request.method !== "PATCH") return undefined;
        if (status === 409) return fate;
        computes.drop();
        return undefined;
      };
      const reconcile = () => world.reconciler.reconcile(uid).catch((error: unknown) => error);
      let ended: unknown;
      for (let n = 0; n < 10 && !(ended instanceof Error); n += 1) {
        const reconciled = reconcile();
        await world.clock.advance(2000);
        ended = await reconciled;
        const made = computes.find();
        if (made !== undefined) world.state.compute = made;
      }
      expect(ended).toMatchObject({ status, about: { kind: "Compute", namespace: "default", name: "shop" } });
    },
  );

  test("a refused finalizer of the Branch does not pass for a refusal of its Compute", async () => {
    const world = await setUp();
    world.standing({ metadata: { finalizers: [] }, spec: { compute: {} } });
    world.write([{ op: "replace", path: "/metadata/finalizers", value: [] }]);
    world.cluster.fate = ({ method, path }) =>
      method === "PATCH" && path.endsWith("/branches/shop") ? { kind: "status", afterMs: 0, status: 403 } : undefined;
    await world.run(5000);
    expect(world.object().status.conditions?.[0]?.message).toContain("patch of this Branch");
  });

  test("the API server's refusal of the owned Compute names that, and is tried again ever later", async () => {
    const world = await setUp();
    world.standing({ spec: { compute: {} } });
    world.cluster.fate = ({ path }) =>
      path.endsWith("/computes") ? { kind: "status", afterMs: 0, status: 403 } : undefined;
    await world.run(minute);
    expect(world.reason()).toBe("Forbidden");
    expect(world.object().status.conditions?.[0]?.message).toContain('refused Compute "shop" as spec.compute declares');
    const attempts = world.delays.filter((delay) => delay !== undefined);
    expect(attempts).toEqual([5, 10, 20, 40].map((seconds) => seconds * second));
  });

  test("a check of the definition that it refuses is told as that, and keeps the branch", async () => {
    const refused = new ClusterError({ status: 403, reason: "", message: "GET /crds: 403" });
    const world = await setUp({ uninstalling: () => Promise.reject(refused) });
    world.standing();
    world.drop();
    await world.run(5 * second);
    expect([world.isGone(), world.writes, world.reason()]).toEqual([false, [], "Forbidden"]);
    expect(world.object().status.conditions?.[0]?.message).toContain(
      "refused a request that this Branch needs: GET /crds: 403",
    );
  });

  test("the API server's word that it is gone ends the reconcile without a word", async () => {
    const world = await setUp();
    world.stored();
    world.cluster.fate = ({ method, path }) => {
      if (method === "PATCH" && !path.endsWith("/status")) world.drop();
      return undefined;
    };
    await world.run(3 * second);
    expect([world.isGone(), world.writes, world.events, world.delays.at(-1)]).toEqual([true, [], [], undefined]);
  });

  test("a version that a patch found outdated is reconciled no more until another is there", async () => {
    const world = await setUp();
    world.stored();
    let patches = 0;
    world.cluster.fate = ({ method, path }) => {
      const isOwn = method === "PATCH" && path.endsWith("/branches/shop");
      return isOwn && ++patches === 1 ? { kind: "status", afterMs: 0, status: 409 } : undefined;
    };
    await world.run(9 * second);
    expect([patches, world.writes, world.delays.at(-1)]).toEqual([1, [], 2 * second]);
    await world.run(20 * second);
    expect([world.reason(), world.writes]).toEqual(["Available", ["POST "]]);
  });

  test("a finalizer that it refuses is told, and tried again in ten seconds", async () => {
    const world = await setUp();
    world.stored();
    world.cluster.fate = ({ method, path }) =>
      method === "PATCH" && !path.endsWith("/status") ? { kind: "status", afterMs: 0, status: 403 } : undefined;
    await world.run(5 * second);
    expect(world.reason()).toBe("Forbidden");
    expect(world.object().status.conditions?.[0]?.message).toContain("patch of this Branch");
    expect(world.writes).toEqual([]);
    expect(world.delays.at(-1)).toBe(10 * second);
  });
});

describe("a create of an earlier process", () => {
  test.each([
    ["may be on its way where the finalizer was there", [finalizers.branch], false],
    ["was never sent where none of ours was there", ["example.com/other"], true],
  ])("a create of an earlier process %s", async (_, held, isLetGo) => {
    const world = await setUp();
    world.stored({ metadata: { finalizers: held } });
    world.drop();
    await world.run(minute);
    const left = world.isGone() ? [] : world.object().metadata.finalizers;
    expect(left).toEqual(held);
    expect(world.reason()).toBe(isLetGo ? undefined : "Deleting");
  });
});

describe("a Branch that is gone", () => {
  const left = (end: string) => [
    `shop Warning Released: The Branch was deleted without the operator's finalizer, so its branch br-one is kept; it ${end}. Delete it at the service if it is not needed.`,
  ];
  type World = Awaited<ReturnType<typeof setUp>>;
  const dropped = (world: World) => {
    const last = world.object();
    world.events.length = 0;
    world.reconciler.gone(last);
    return world.events;
  };

  test("a gone Branch that lost its finalizer by a person's hand leaves its branch, which an event names once", async () => {
    const world = await setUp();
    world.standing();
    await world.run(minute);
    const last = world.object();
    expect(dropped(world)).toEqual(left("has no end"));
    world.reconciler.gone(last);
    expect(world.events).toHaveLength(1);
  });

  test("a gone Branch that waited for others without our finalizer names its branch too", async () => {
    const world = await setUp();
    world.standing({}, { protected: true });
    await world.run(minute);
    world.write([{ op: "replace", path: "/metadata/finalizers", value: ["example.com/other"] }]);
    world.drop();
    await world.run(minute);
    expect(dropped(world)).toEqual(left("has no end"));
  });

  test.each([
    ["whose branch stays by Retain", { spec: { deletionPolicy: "Retain" } }],
    ["that nothing proves its own", { status: { proof: undefined } }],
  ])("a gone Branch %s says nothing", async (_, fields) => {
    const world = await setUp();
    world.standing(fields);
    await world.run(minute);
    expect(dropped(world)).toEqual([]);
  });

  test("a gone Branch that had adopted its branch says nothing of it", async () => {
    const world = await setUp();
    world.standing();
    world.write([{ op: "replace", path: "/status/proof/by", value: "adopted" }], "/status");
    await world.run(minute);
    expect(dropped(world)).toEqual([]);
  });

  test.each([
    ["when it had deleted its branch", () => {}],
    ["when its branch had gone before", ({ branches }: World) => branches.delete("br-one")],
  ])("a gone Branch that the operator let go itself %s says nothing of a branch that is left", async (_, happens) => {
    const world = await setUp();
    const { metadata, ...rest } = world.standing();
    await world.run(minute);
    happens(world);
    world.drop();
    await world.run(2 * minute);
    expect(world.isGone()).toBe(true);
    world.events.length = 0;
    world.reconciler.gone({ ...rest, metadata });
    expect(world.events).toEqual([]);
  });
});
