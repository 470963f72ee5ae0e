import { describe, expect, test, vi } from "vitest";
import { restoreFinalizer } from "../../../src/operator/branch/execute.ts";
import type { BranchMemory } from "../../../src/operator/branch/memory.ts";
import { after } from "../../../src/operator/life/outcome.ts";
import type { Branch } from "../../../src/operator/resources/branch.ts";
import { finalizers } from "../../../src/operator/resources/names.ts";
import type { ServiceResponse } from "../../../src/operator/service-client/transport.ts";
import { json, refusal } from "../../support/scripted-service.ts";
import type { StoredFields } from "../stored-objects.ts";
import { inMs, minute, second } from "./builders.ts";
import { Acting, accepted, messageOf, writes } from "./executing.ts";

const linked = { branchID: "br-one", observedGeneration: 1 };
const ready = (reason: string, message = "as before") => ({
  conditions: [{ type: "Ready", status: "False", reason, message, lastTransitionTime: "2026-01-01T00:00:00Z" }],
});

describe("an action that sends nothing to the service", () => {
  const event = { type: "Normal", reason: "Adopted", message: "taken" } as const;
  const said = { reason: "Conflict", message: "taken" } as const;

  test.each([
    [
      "does nothing until there is news",
      { kind: "noop" },
      { requeue: { kind: "byReason" }, condition: { kind: "unchanged" }, events: [] },
    ],
    [
      "does nothing for so long",
      { kind: "noop", afterMs: 700 },
      { requeue: after(700), condition: { kind: "unchanged" } },
    ],
    [
      "notes",
      { kind: "note", news: { resetAt: "1" } },
      { news: { resetAt: "1" }, events: [], requeue: { kind: "now" } },
    ],
    [
      "notes with an event",
      { kind: "note", news: {}, event },
      { news: {}, events: [event], condition: { kind: "unchanged" } },
    ],
    ["shows", { kind: "show", ...said }, { condition: said, news: {}, events: [], requeue: { kind: "byReason" } }],
    [
      "shows for so long, with news and an event",
      { kind: "show", ...said, afterMs: 700, news: { takenUntil: "then" }, event },
      { condition: said, news: { takenUntil: "then" }, events: [event], requeue: after(700) },
    ],
  ] as const)("an action %s", async (_, action, expected) => {
    const acting = new Acting();
    expect(await acting.execute(action, acting.stored())).toMatchObject(expected);
    expect(acting.effects).toEqual([]);
  });

  test.each(["create", "patch", "delete"] as const)(
    "the owned Compute is told to %s, and the next look follows",
    async (kind) => {
      const acting = new Acting();
      const outcome = await acting.execute({ kind: "compute", step: { kind } }, acting.stored());
      expect(acting.effects).toEqual([`compute ${kind}`]);
      expect(outcome).toMatchObject({ requeue: { kind: "now" }, condition: { kind: "unchanged" } });
    },
  );

  test.each([
    ["a write", { kind: "write", write: writes.delete }],
    ["a probe", { kind: "probe", id: "br-one" }],
  ] as const)("%s waits a second while no connection is open", async (_, action) => {
    const acting = new Acting();
    const outcome = await acting.execute(action, acting.stored(), { access: undefined });
    expect(outcome).toMatchObject({ requeue: after(1000), condition: { kind: "unchanged" } });
    expect(acting.effects).toEqual([]);
  });
});

describe("letting go", () => {
  const action = { kind: "release", event: "Deleted", message: "It is gone." } as const;

  test("letting a Branch go deletes the owned Compute first, then takes the finalizer away, and says so", async () => {
    const acting = new Acting();
    acting.stored();
    const outcome = await acting.execute(action, acting.drop());
    expect(acting.effects).toEqual(["compute delete", "PATCH branches/shop"]);
    expect(acting.isGone).toBe(true);
    expect(outcome).toMatchObject({
      condition: { kind: "released" },
      events: [{ type: "Normal", reason: "Deleted", message: "It is gone." }],
    });
  });

  test("letting a Branch go keeps the owned Compute as it is while the definition of Branches goes", async () => {
    const acting = new Acting();
    acting.stored();
    await acting.execute({ ...action, isUninstalling: true }, acting.drop());
    expect(acting.effects).toEqual(["PATCH branches/shop"]);
    expect(acting.isGone).toBe(true);
  });

  test("letting a Branch go keeps the finalizers of others, and writes nothing where ours is not there", async () => {
    const acting = new Acting();
    const object = acting.stored({ metadata: { finalizers: ["example.com/other"] } });
    await acting.execute(action, object);
    expect(acting.effects).toEqual(["compute delete"]);
    acting.write([{ op: "add", path: "/metadata/finalizers/-", value: finalizers.branch }]);
    await acting.execute(action, acting.object());
    expect(acting.object().metadata.finalizers).toEqual(["example.com/other"]);
  });
});

describe("the finalizer of a linked Branch", () => {
  const bare = { metadata: { finalizers: [] } };

  test("the finalizer is put back where it was lost", async () => {
    const acting = new Acting();
    const object = acting.stored({ ...bare, status: linked });
    const held = await restoreFinalizer(object, acting.cluster.client());
    expect(held.metadata.finalizers).toEqual([finalizers.branch]);
    expect(held.metadata.resourceVersion).toBe(acting.object().metadata.resourceVersion);
    expect(acting.effects).toEqual(["PATCH branches/shop"]);
  });

  test.each([
    ["is there", { status: linked }, false],
    ["is lost before there is a branch", bare, false],
    [
      "is lost from an object that is being deleted",
      { status: linked, metadata: { finalizers: ["example.com/other"] } },
      true,
    ],
  ])("the finalizer is not written where it %s", async (_, fields, isDropped) => {
    const acting = new Acting();
    const stored = acting.stored(fields);
    const object = isDropped ? acting.drop() : stored;
    expect(await restoreFinalizer(object, acting.cluster.client())).toBe(object);
    expect(acting.effects).toEqual([]);
  });

  test("an answer of the API server that is no Branch stops the reconcile", async () => {
    const acting = new Acting();
    const object = acting.stored({ ...bare, status: linked });
    await expect(restoreFinalizer(object, { patch: () => Promise.resolve({}) })).rejects.toThrow(
      "the API server answered with a Branch that cannot be read",
    );
  });
});

describe("the own GET of a branch that lists lack", () => {
  const missing = { id: "br-one", since: 0, proved: false };
  const probe = async (answer: ServiceResponse, remembered: Partial<BranchMemory> = { missing }) => {
    const acting = new Acting({ remembered });
    acting.answer = () => answer;
    await acting.clock.advance(7000);
    const outcome = await acting.execute({ kind: "probe", id: "br-one" }, acting.stored());
    expect(acting.effects).toEqual(["GET service/branches/br-one"]);
    return { outcome, remembered: acting.memory };
  };

  test("the own GET of a branch that shows it contradicts the lists: it is not missing, and a newer list is read", async () => {
    const { outcome, remembered } = await probe(accepted());
    expect(remembered).toMatchObject({ missing: undefined, listsAfter: 7000 });
    expect(outcome).toMatchObject({ requeue: after(5000), condition: { kind: "unchanged" } });
  });

  test.each([
    ["that finds no such branch", refusal(404, "branch not found")],
    ["that shows it only to be recovered", accepted({ recovery: {} })],
  ])("%s proves it gone", async (_, answer) => {
    const { outcome, remembered } = await probe(answer);
    expect(remembered).toMatchObject({ missing: { ...missing, proved: true }, listsAfter: 0 });
    expect(outcome).toMatchObject({ requeue: { kind: "now" }, condition: { kind: "unchanged" } });
  });

  test.each([
    ["that finds no project", refusal(404, "project not found"), "ProjectNotFound"],
    ["that is not answered", json(500, {}), "ServiceUnavailable"],
    ["that may not be made", refusal(403), "Forbidden"],
  ])("%s proves nothing, and says so", async (_, answer, reason) => {
    const { outcome, remembered } = await probe(answer);
    expect(remembered.missing).toEqual(missing);
    expect(outcome).toMatchObject({ requeue: { kind: "byReason" }, condition: { reason } });
  });

  test("the own GET of a branch says what could not be looked at", async () => {
    const { outcome } = await probe(refusal(403));
    expect(messageOf(outcome)).toContain("may not show branch br-one");
  });

  test.each([
    ["another branch is missing by now", { ...missing, id: "br-two" }],
    ["none is missing any more", undefined],
  ])("the own GET of a branch proves nothing where %s", async (_, known) => {
    const deleted = await probe(accepted({ recovery: {} }), { missing: known });
    expect(deleted.remembered.missing).toEqual(known);
    expect(deleted.outcome).toMatchObject({ requeue: after(1000), condition: { kind: "unchanged" } });
    const notFound = await probe(refusal(404, "branch not found"), { missing: known });
    expect(notFound.remembered.missing).toEqual(known);
    expect(notFound.outcome).toMatchObject({ condition: { reason: "BranchNotFound" } });
  });

  test("the own GET of a branch waits for the budget, and is enqueued when there is some", async () => {
    const acting = new Acting({ client: { limits: { perMinute: 1, burst: 0 } } });
    const outcome = await acting.execute({ kind: "probe", id: "br-one" }, acting.stored());
    expect(outcome).toMatchObject({ requeue: { kind: "enqueued" }, condition: { kind: "unchanged" } });
    expect(acting.effects).toEqual([]);
  });
});

describe("what is sent", () => {
  test.each([
    ["a create", writes.create, "POST", "/branches", { branch: { name: "default/shop" } }],
    ["a patch", writes.patch, "PATCH", "/branches/br-one", { branch: { expires_at: "2026-01-11T00:00:00Z" } }],
    ["a reset", writes.reset, "POST", "/branches/br-one/restore", { source_branch_id: "br-main" }],
    ["a deletion", writes.delete, "DELETE", "/branches/br-one", undefined],
  ] as const)("%s is one request", async (_, write, method, path, body) => {
    const acting = new Acting();
    acting.answer = () => accepted();
    await acting.send(write);
    expect(acting.service.requests).toMatchObject([{ method, path: `/projects/shiny-wind-028834${path}`, body }]);
  });

  test.each([
    ["of a fleet", "prod", { "compute-operator.dev/fleet": "prod" }],
    ["of none", undefined, {}],
  ])("a create carries the note of its object, %s", async (_, fleet, more) => {
    const acting = new Acting();
    acting.fleet = fleet;
    acting.answer = () => accepted();
    const object = acting.stored();
    await acting.send(writes.create, object);
    expect(acting.service.requests[0]?.body).toEqual({
      branch: { name: "default/shop" },
      annotation_value: {
        "compute-operator.dev/uid": object.metadata.uid,
        "compute-operator.dev/object": "default/shop",
        ...more,
      },
    });
  });

  test("the finalizer goes before a create, where it is not there yet", async () => {
    const acting = new Acting();
    acting.answer = () => accepted();
    const outcome = await acting.send(writes.create, acting.stored({ metadata: { finalizers: [] } }));
    expect(acting.effects).toEqual(["PATCH branches/shop", "POST service/branches"]);
    expect(acting.object().metadata.finalizers).toEqual([finalizers.branch]);
    expect(outcome.object).toEqual(acting.object());
  });

  test.each([
    ["a create of an object that has it", writes.create],
    ["a patch", writes.patch],
    ["a deletion", writes.delete],
  ])("nothing is written to the API server before %s", async (_, write) => {
    const acting = new Acting();
    acting.answer = () => accepted();
    await acting.send(write);
    expect(acting.effects).toHaveLength(1);
  });

  test("a reset counts as one that may be carried out from before it is sent", async () => {
    const acting = new Acting();
    vi.spyOn(acting.access.client.branches, "reset").mockRejectedValue(new Error("a defect"));
    await expect(acting.send(writes.reset)).rejects.toThrow("a defect");
    expect(acting.memory.reset).toMatchObject({ record: { value: "1" }, phase: "open", openedAt: 0 });
  });

  test.each([
    ["without a time of the last one", undefined, {}],
    ["with the service's time of the last one", inMs(0), { lastResetAt: inMs(0) }],
  ])("the record goes before a reset, %s, into the status as it is", async (_, lastResetAt, more) => {
    const acting = new Acting();
    acting.answer = () => accepted();
    await acting.clock.advance(5000);
    const object = acting.stored({ status: { ...linked, resetAt: "0" } });
    const outcome = await acting.send({ ...writes.reset, lastResetAt }, object);
    expect(acting.effects).toEqual(["PATCH branches/shop/status", "POST service/branches/br-one/restore"]);
    expect(acting.object().status).toEqual({
      ...object.status,
      pendingWrite: {
        uid: object.metadata.uid,
        operation: "reset",
        value: "1",
        since: "2026-01-01T00:00:05Z",
        branchID: "br-one",
        ...more,
      },
    });
    expect(outcome.object).toEqual(acting.object());
  });
});

describe("a write that the service accepts", () => {
  const operation = { id: "op-1", action: "create_branch", status: "running", failures_count: 0 };
  const dated = { ...operation, created_at: inMs(0), updated_at: inMs(0), branch_id: "br-one" };

  const failed = {
    write: "another",
    reason: "ProjectBusy",
    message: "",
    until: 0,
    failures: 1,
    branches: 1,
  } as const;

  test("forgets what failed before, follows the operations, and asks for a newer list", async () => {
    const acting = new Acting({ remembered: { failed } });
    acting.answer = () => accepted({}, [dated]);
    await acting.clock.advance(5000);
    await acting.send(writes.protection);
    expect(acting.memory).toMatchObject({ failed: undefined, listsAfter: 5000 });
    expect(acting.access.lister.operations.followed.has("op-1")).toBe(true);
  });

  test("a create is linked, proved and told, and its end counts as applied where the answer shows it", async () => {
    const acting = new Acting({ remembered: { failed } });
    const end = { expiry: "after 72h", at: inMs(minute) };
    acting.answer = () => accepted({ expires_at: inMs(minute) });
    const object = acting.stored();
    const outcome = await acting.send({ ...writes.create, end }, object);
    expect(outcome).toMatchObject({
      condition: { reason: "Creating", message: 'The service creates branch "default/shop".' },
      answered: { id: "br-one", expires_at: inMs(minute) },
      isApplied: true,
      events: [{ type: "Normal", reason: "Created", message: "Created branch default/shop (br-one)." }],
      requeue: after(500),
    });
    expect(outcome.news).toStrictEqual({
      branchID: "br-one",
      proof: { uid: object.metadata.uid, branchID: "br-one", by: "created" },
      observedThrough: acting.access.client.fingerprint,
      gone: undefined,
      appliedExpiry: "after 72h",
      appliedEnd: inMs(minute),
    });
    expect(acting.memory).toMatchObject({ failed: undefined, post: { closedAt: acting.clock.monotonic() } });
  });

  test("a create that is answered without a branch is looked for in a list", async () => {
    const acting = new Acting({ remembered: { failed } });
    acting.answer = () => json(204, undefined);
    const outcome = await acting.send(writes.create);
    expect(outcome).toMatchObject({
      requeue: after(1000),
      news: {},
      condition: { kind: "unchanged" },
      events: [],
      isApplied: false,
    });
    expect(acting.memory.failed).toBeUndefined();
  });

  test.each([
    ["an end", writes.patch, { expires_at: "2026-01-11T00:00:00Z" }, "after 72h"],
    ["a renewal", writes.renewal, { expires_at: "2026-01-11T00:00:00Z" }, "lease 72h"],
  ])("%s that the answer shows is applied", async (_, write, shown, appliedExpiry) => {
    const acting = new Acting();
    acting.answer = () => accepted(shown);
    const outcome = await acting.send(write);
    expect(outcome).toMatchObject({
      answered: shown,
      isApplied: true,
      requeue: after(1000),
      condition: { kind: "unchanged" },
      news: { appliedExpiry, appliedEnd: "2026-01-11T00:00:00Z" },
    });
  });

  test("the protection changes no end", async () => {
    const acting = new Acting();
    acting.answer = () => accepted({ protected: true });
    const outcome = await acting.send(writes.protection);
    expect(outcome).toMatchObject({ answered: { protected: true }, isApplied: true, requeue: after(1000) });
    expect(outcome.news).toEqual({});
    expect(acting.memory.ends).toEqual([]);
  });

  test("a reset is done and told, its record goes, and the end is sent again", async () => {
    const acting = new Acting();
    acting.answer = () =>
      accepted({ last_reset_at: inMs(0) }, [{ id: "op-one", action: "restore_branch", status: "running" }]);
    const outcome = await acting.send(writes.reset);
    expect(outcome).toMatchObject({
      condition: { reason: "Resetting", message: "The service resets branch br-one to the head of its parent." },
      answered: { last_reset_at: inMs(0) },
      isApplied: false,
      events: [
        { type: "Normal", reason: "Reset", message: "The service resets branch br-one to the head of its parent." },
      ],
      requeue: after(1000),
    });
    expect(outcome.news).toStrictEqual({});
    expect(acting.memory.reset).toMatchObject({ record: { value: "1" }, phase: "closed", closedAt: 0 });
    expect(acting.memory.resetOperations).toStrictEqual(["op-one"]);
  });

  test.each(["create", "reset"] as const)("a %s forgets the operations of the reset before", async (op) => {
    const acting = new Acting({ remembered: { resetOperations: ["op-one"] } });
    acting.answer = () => json(503, {});
    await acting.send(writes[op]);
    expect(acting.memory.resetOperations).toStrictEqual([]);
  });

  test("a deletion is remembered with its time", async () => {
    const acting = new Acting();
    acting.answer = () => accepted();
    await acting.clock.advance(5000);
    const outcome = await acting.send(writes.delete);
    expect(acting.memory.deleted).toEqual({ id: "br-one", at: 5000 });
    expect(outcome).toMatchObject({
      condition: { reason: "Deleting", message: "The service deletes branch br-one and its computes." },
      requeue: after(1000),
    });
  });
});

test("a create's end that the answer does not show is remembered until a list shows it", async () => {
  const acting = new Acting();
  acting.answer = () => accepted();
  const { end } = writes.patch;
  const { news } = await acting.send({ ...writes.create, end });
  expect(news).not.toHaveProperty("appliedExpiry");
  expect(acting.memory.ends).toMatchObject([{ record: end, phase: "closed", closedAt: 0, unseen: 1 }]);
});

describe("a write that failed", () => {
  const failedOnce = async () => {
    const acting = new Acting();
    acting.answer = () => refusal(503, "full");
    const object = acting.stored({ status: { ...linked, ...ready("Available") } });
    const outcome = await acting.send(writes.patch, object);
    acting.access.gate.end();
    acting.effects.length = 0;
    acting.answer = () => accepted();
    return { acting, object, outcome };
  };

  test("a write that failed is not sent again before its time, and shows what it failed for", async () => {
    const { acting, object, outcome: first } = await failedOnce();
    await acting.clock.advance(second - 1);
    const outcome = await acting.send(writes.patch, object);
    expect(acting.effects).toEqual([]);
    expect(outcome).toMatchObject({ condition: first.condition, requeue: after(1) });
    await acting.clock.advance(1);
    await acting.send(writes.patch, object);
    expect(acting.effects).toEqual(["PATCH service/branches/br-one"]);
  });

  test("a write that failed holds no other write back, nor the same of a newer spec", async () => {
    const other = await failedOnce();
    await other.acting.send(writes.protection, other.object);
    expect(other.acting.effects).toHaveLength(1);
    const newer = await failedOnce();
    newer.acting.write([{ op: "add", path: "/spec/protected", value: false }]);
    await newer.acting.send(writes.patch, newer.acting.object());
    expect(newer.acting.effects).toHaveLength(1);
  });

  test("a write that failed is enqueued when its project is free where the service is busy", async () => {
    const acting = new Acting();
    acting.answer = () => refusal(423, "project already has running operations");
    expect(await acting.send(writes.patch)).toMatchObject({
      requeue: { kind: "enqueued" },
      condition: { kind: "unchanged" },
    });
  });
});

describe("what the API server refuses", () => {
  const others = { metadata: { finalizers: ["example.com/other"] } };
  const refusing = { compute: () => Promise.reject(new Error("the quota is used up")) };
  const release = { kind: "release", event: "Released", message: "" } as const;

  test("what the API server refuses for the owned Compute stops the reconcile", async () => {
    const acting = new Acting();
    const object = acting.stored();
    const action = { kind: "compute", step: { kind: "create" } } as const;
    await expect(acting.execute(action, object, refusing)).rejects.toThrow("the quota is used up");
    await expect(acting.execute(release, object, refusing)).rejects.toThrow("the quota is used up");
    expect(acting.object().metadata.finalizers).toEqual([finalizers.branch]);
  });

  test.each<[string, StoredFields, (acting: Acting, object: Branch) => Promise<unknown>]>([
    ["release of an object", {}, (acting, object) => acting.execute(release, object)],
    ["create", others, (acting, object) => acting.send(writes.create, object)],
    [
      "return of the finalizer",
      { ...others, status: linked },
      (acting, object) => restoreFinalizer(object, acting.cluster.client()),
    ],
    ["record of a reset", { status: linked }, (acting, object) => acting.send(writes.reset, object)],
  ])(
    "what the API server refuses is the %s that somebody has written since: the plan was made for what it was",
    async (_, fields, does) => {
      const acting = new Acting();
      const object = acting.stored(fields);
      acting.write([{ op: "add", path: "/metadata/labels", value: { a: "b" } }]);
      await expect(does(acting, object)).rejects.toThrow("422");
      expect(acting.service.requests).toEqual([]);
    },
  );

  test("what the API server refuses is no obstacle for what follows a refused reset: the status goes on from the record", async () => {
    const acting = new Acting();
    acting.answer = () => refusal(422);
    const outcome = await acting.send(writes.reset, acting.stored({ status: linked }));
    expect(outcome.object).toEqual(acting.object());
  });
});

describe("a deletion while the definition of Branches is being deleted", () => {
  test("a deletion under uninstallation is not sent: the branch is kept, its Compute as it is, and the object let go", async () => {
    const acting = new Acting();
    acting.uninstalling = true;
    acting.stored();
    const outcome = await acting.send(writes.delete, acting.drop());
    expect(acting.effects).toEqual(["PATCH branches/shop"]);
    expect(acting.isGone).toBe(true);
    expect(outcome).toMatchObject({
      condition: { kind: "released" },
      events: [
        {
          type: "Normal",
          reason: "Released",
          message: "Kept branch br-one, because the definition of Branches is being deleted.",
        },
      ],
    });
  });

  test("a deletion under uninstallation keeps no other write from being sent", async () => {
    const acting = new Acting();
    acting.uninstalling = true;
    acting.answer = () => accepted();
    await acting.send(writes.patch);
    expect(acting.effects).toEqual(["PATCH service/branches/br-one"]);
  });
});

describe("a deletion whose owned Compute", () => {
  test("lost its owner meanwhile is not sent, and planned again soon", async () => {
    const acting = new Acting();
    acting.ownsStill = false;
    acting.answer = () => accepted();
    expect(await acting.send(writes.delete)).toMatchObject({ requeue: after(2000), condition: { kind: "unchanged" } });
    expect(acting.effects).toEqual([]);
    await acting.send(writes.patch, acting.object());
    expect(acting.effects).toEqual(["PATCH service/branches/br-one"]);
  });
});
