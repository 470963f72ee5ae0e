import { describe, expect, test } from "vitest";
import { createEndpoint } from "../../../../src/operator/compute/execute/create.ts";
import { execute } from "../../../../src/operator/compute/execute/execute.ts";
import { patchEndpoint, restartEndpoint } from "../../../../src/operator/compute/execute/update.ts";
import { pendingCreateOf } from "../../../../src/operator/compute/observe/pending-operations.ts";
import type { Action } from "../../../../src/operator/compute/plan/action.ts";
import { NoResponseError } from "../../../../src/operator/service-client/transport.ts";
import { createMark, endpoint, operation } from "../../../support/builders.ts";
import { json, refusal } from "../../../support/scripted-service.ts";
import { Acting, linked, settled, standing } from "./executing.ts";

type Create = Extract<Action, { kind: "create" }>;
type Patch = Extract<Action, { kind: "patch" }>;

/** What the next plan goes by: all of it is written by what was sent. */
describe("of a create is remembered", () => {
  const failedWrite = { write: "", reason: "Rejected", message: "", until: 0, failures: 3 } as const;

  function creating(type: "read_write" | "read_only", mark?: { branchID?: string; resent?: true }) {
    const acting = new Acting();
    acting.stored({ spec: { type }, metadata: { annotations: { a: "b" } } });
    const { uid } = acting.compute().metadata;
    const path = "/metadata/annotations/compute-operator.dev~1pending-create";
    if (mark !== undefined) acting.write([{ op: "add", path, value: createMark({ uid, ...mark }) }]);
    const name = `k8s-${uid}`;
    const made = endpoint({ id: "ep-new", type, name });
    acting.answer = () => json(201, { endpoint: made, operations: [operation({ endpoint_id: "ep-new" })] });
    const action: Create = {
      kind: "create",
      attributes: { branch_id: "br-main", type, name },
      mark: { branchID: "br-main", through: "here" },
      lost: false,
    };
    const { memory } = acting.hands;
    memory.pendingCreate = { since: "", seenAt: 0 };
    return {
      acting,
      memory,
      kind: action,
      made,
      send: (more: Partial<Create> = {}) => createEndpoint({ ...action, ...more }, acting.compute(), acting.hands),
    };
  }

  test("the endpoint as ours by its name, the generation that it has, and when it ended", async () => {
    const { acting, memory, made, send } = creating("read_write");
    memory.failedWrite = failedWrite;
    await acting.cluster.clock.advance(700);
    const outcome = await send();
    expect(memory).toMatchObject({
      proved: { endpointID: "ep-new", proof: "marker" },
      applied: { generation: 1, drift: [] },
      listsCountAfter: 700,
    });
    expect([memory.failedWrite, memory.pendingCreate]).toEqual([undefined, undefined]);
    expect(outcome).toMatchObject({ endpoint: made, operations: [{ endpoint_id: "ep-new" }] });
    expect(acting.hands.watcher.operations.isBusyWith("ep-new")).toBe(true);
    expect(acting.annotation("created-endpoint")).toBeUndefined();
  });

  test.each([undefined, "by hand"])(
    "the endpoint as made by this very object where it answers the name %s",
    async (name) => {
      const { acting, memory, made, send } = creating("read_write");
      acting.answer = () => json(201, { endpoint: { ...made, name }, operations: [] });
      await send();
      expect(memory.proved).toEqual({ endpointID: "ep-new", proof: "created" });
      expect(acting.annotation("created-endpoint")).toBe(`${acting.compute().metadata.uid}/ep-new`);
    },
  );

  test("since when its outcome is not known, with the mark, should somebody drop that", async () => {
    const { acting, memory, send } = creating("read_only");
    await acting.cluster.clock.advance(700);
    acting.answer = () => Promise.reject(new NoResponseError("reset"));
    await send();
    expect(memory.pendingCreate).toMatchObject({ seenAt: 700, mark: { branchID: "br-main" } });
    expect(memory.pendingCreate?.since).toBe(pendingCreateOf(acting.compute())?.since);
  });

  test("one in place of a lost endpoint is told as such", async () => {
    const [first, again] = [await creating("read_write").send(), await creating("read_write").send({ lost: true })];
    expect(first.notes[0]?.message).toBe("Created endpoint ep-new.");
    expect(again.notes[0]?.message).toContain("in place of the one that was lost");
  });

  const since = "2026-01-01T00:00:00Z";
  test.each<[string, "read_write" | "read_only", { branchID?: string; resent?: true }, object, object | undefined]>([
    ["a replica is not marked as sent twice, and its mark goes", "read_only", {}, { since }, undefined],
    ["a primary keeps its mark, which says so", "read_write", {}, { since, resent: true }, { since, resent: true }],
    ["a primary sent a third time keeps its mark", "read_write", { resent: true }, { since }, { since, resent: true }],
    [
      "a primary on another branch gets a new mark",
      "read_write",
      { branchID: "br-old" },
      { branchID: "br-main", since: "2026-01-01T00:00:05Z" },
      { branchID: "br-main", resent: true },
    ],
  ])("a second POST: %s", async (_, type, mark, sentWith, kept) => {
    const { acting, memory, made, send } = creating(type, mark);
    await acting.cluster.clock.advance(5000);
    let marked: unknown;
    acting.answer = () => {
      marked = pendingCreateOf(acting.compute());
      return json(201, { endpoint: made, operations: [] });
    };
    await send();
    expect(marked).toMatchObject(sentWith);
    expect([pendingCreateOf(acting.compute())]).toMatchObject([kept]);
    expect([memory.pendingCreate]).toMatchObject([kept === undefined ? undefined : { seenAt: 0 }]);
  });

  test("a second POST of a primary whose mark says so already writes no mark, only proves that it stands", async () => {
    const { acting, send } = creating("read_write", { resent: true });
    acting.write([{ op: "add", path: "/metadata/finalizers", value: ["compute-operator.dev/endpoint"] }]);
    await send();
    expect(acting.effects.filter((effect) => effect.startsWith("PATCH"))).toHaveLength(2);
    expect(pendingCreateOf(acting.compute())?.resent).toBe(true);
  });
});

describe("of a change is remembered", () => {
  const action: Patch = {
    kind: "patch",
    endpointID: "ep-one",
    attributes: { pooler_enabled: true },
    fields: ["pooler"],
    progress: "Updating",
    corrects: [],
  };
  const drift = { field: "pooler", ours: "true", theirs: "false" };

  function changing(status: object = {}) {
    const acting = new Acting();
    const self = acting.stored({
      metadata: linked,
      spec: { pooler: { enabled: true } },
      status: { ...settled, ...status },
    });
    acting.answer = () => json(200, { endpoint: endpoint({ pooler_enabled: true }), operations: [operation()] });
    const { memory } = acting.hands;
    return {
      acting,
      self,
      memory,
      send: (more: Partial<Patch> = {}) => patchEndpoint({ ...action, ...more }, self, acting.hands),
    };
  }

  test("when it ended, for every Compute with the same link, and what is to be seen in the next lists", async () => {
    const { acting, memory, send } = changing();
    memory.failedWrite = { write: "", reason: "Rejected", message: "", until: 0, failures: 3 };
    await acting.cluster.clock.advance(700);
    const outcome = await send();
    expect(memory).toMatchObject({
      listsCountAfter: 700,
      patched: { generation: 1, fields: ["pooler"], listsWithout: [], at: 700, tries: 0 },
      applied: { generation: 1, drift: [] },
      corrections: [],
    });
    expect(memory.failedWrite).toBeUndefined();
    expect(acting.hands.watcher.writtenAt("ep-one")).toBe(700);
    expect(outcome).toMatchObject({
      endpoint: { id: "ep-one" },
      operations: [{ id: "op-1" }],
      notes: [{ reason: "Patched" }],
    });
  });

  test("how often it was tried for the same generation", async () => {
    const { memory, send } = changing();
    await send();
    await send();
    expect(memory.patched?.tries).toBe(1);
    if (memory.patched !== undefined) memory.patched = { ...memory.patched, generation: 0 };
    await send();
    expect(memory.patched?.tries).toBe(0);
  });

  test("the drift that was told, from the status or, where that was wiped, from before", async () => {
    const told = changing({ drift: [drift] });
    await told.send();
    expect(told.memory.applied?.drift).toEqual([drift]);
    const wiped = changing();
    wiped.memory.applied = { generation: 1, drift: [drift] };
    await wiped.send();
    expect(wiped.memory.applied?.drift).toEqual([drift]);
  });

  test("each correction of drift, the last ten, to notice a tug-of-war", async () => {
    const { memory, send } = changing();
    for (const _ of Array.from({ length: 12 })) await send({ corrects: [drift] });
    expect(memory.corrections).toHaveLength(10);
    expect(memory.corrections[9]).toEqual({ generation: 1, at: 0 });
  });

  test("a move is told as such", async () => {
    const { send } = changing();
    const { notes } = await send({ attributes: { branch_id: "br-next" }, fields: ["branchID"], progress: "Moving" });
    expect(notes).toMatchObject([{ reason: "Moved", message: expect.stringContaining("br-next") }]);
  });

  test("that it failed: the same again waits twice as long, another or through another key does not", async () => {
    const { acting, memory, send } = changing();
    acting.answer = () => refusal(423, "locked");
    const waits = [(await send()).requeueAfterMs, (await send()).requeueAfterMs];
    expect(memory.failedWrite?.failures).toBe(1);
    expect(memory.failedWrite?.through).toBe(acting.hands.watcher.client.through);
    waits.push((await send({ attributes: { pooler_enabled: false } })).requeueAfterMs);
    await send();
    if (memory.failedWrite !== undefined) memory.failedWrite = { ...memory.failedWrite, through: "another" };
    waits.push((await send()).requeueAfterMs);
    expect(waits).toEqual([1000, 2000, 1000, 1000]);
  });
});

describe("of a restart is remembered", () => {
  test("that it was done, when it ended, and its operations", async () => {
    const { acting, self } = standing();
    await acting.cluster.clock.advance(700);
    const { memory, watcher } = acting.hands;
    memory.failedWrite = { write: "", reason: "Rejected", message: "", until: 0, failures: 3 };
    acting.answer = (what) =>
      what.startsWith("GET")
        ? json(200, { operations: [] })
        : json(200, { endpoint: endpoint(), operations: [operation()] });
    const outcome = await restartEndpoint({ kind: "restart", endpointID: "ep-one", value: "now" }, self, acting.hands);
    expect(memory).toMatchObject({ restarted: "now", listsCountAfter: 700 });
    expect(memory.failedWrite).toBeUndefined();
    expect(watcher.writtenAt("ep-one")).toBe(700);
    expect(watcher.operations.busy).toBe(true);
    expect(outcome.operations).toMatchObject([{ id: "op-1" }]);
  });

  test("also where it only shows that it was done", async () => {
    const { acting, self } = standing();
    await execute({ kind: "restarted", endpointID: "ep-one", value: "now" }, self, acting.hands, acting.hands);
    expect(acting.hands.memory.restarted).toBe("now");
  });
});
