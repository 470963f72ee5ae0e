import { describe, expect, test } from "vitest";
import { createEndpoint } from "../../../../src/operator/compute/execute/create.ts";
import { restartEndpoint } from "../../../../src/operator/compute/execute/restart.ts";
import { patchEndpoint } from "../../../../src/operator/compute/execute/update.ts";
import { pendingCreateOf } from "../../../../src/operator/compute/observe/annotations.ts";
import { operationsIn } from "../../../../src/operator/compute/outcome.ts";
import type { Action } from "../../../../src/operator/compute/plan/action.ts";
import { NoResponseError } from "../../../../src/operator/service-client/transport.ts";
import { createMark, endpoint, operation } from "../../../support/builders.ts";
import { json, refusal } from "../../../support/scripted-service.ts";
import { Acting, linked, msOf, settled, standing } from "./executing.ts";

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
    const known = acting.remember({ pendingCreate: { since: "", seenAt: 0 }, failedWrite });
    return {
      acting,
      known,
      kind: action,
      made,
      send: (more: Partial<Create> = {}) =>
        createEndpoint({ ...action, ...more }, acting.context(acting.compute()), acting.access),
    };
  }

  test("the endpoint as ours by its name, the generation that it has, and when it ended", async () => {
    const { acting, known, made, send } = creating("read_write");
    await acting.cluster.clock.advance(700);
    const outcome = await send();
    expect(known).toMatchObject({
      proved: { endpointID: "ep-new", proof: "signature" },
      applied: { generation: 1, drift: [] },
      listsCountAfter: 700,
    });
    expect([known.failedWrite, known.pendingCreate]).toEqual([undefined, undefined]);
    expect(outcome.effect).toMatchObject({ endpoint: made, operations: [{ endpoint_id: "ep-new" }] });
    expect(acting.access.lister.operations.followed.isBusyWith("ep-new")).toBe(true);
    expect(acting.annotation("created-endpoint")).toBeUndefined();
  });

  test.each([undefined, "by hand"])(
    "the endpoint as made by this very object where it answers the name %s",
    async (name) => {
      const { acting, known, made, send } = creating("read_write");
      acting.answer = () => json(201, { endpoint: { ...made, name }, operations: [] });
      await send();
      expect(known.proved).toEqual({ endpointID: "ep-new", proof: "created" });
      expect(acting.annotation("created-endpoint")).toBe(`${acting.compute().metadata.uid}/ep-new`);
    },
  );

  test("since when its outcome is not known, with the mark, should somebody drop that", async () => {
    const { acting, known, send } = creating("read_only");
    await acting.cluster.clock.advance(700);
    acting.answer = () => Promise.reject(new NoResponseError("reset"));
    await send();
    expect(known.pendingCreate).toMatchObject({ seenAt: 700, mark: { branchID: "br-main" } });
    expect(known.pendingCreate?.since).toBe(pendingCreateOf(acting.compute())?.since);
  });

  test("one that replaces a lost endpoint is reported as such", async () => {
    const [first, again] = [await creating("read_write").send(), await creating("read_write").send({ lost: true })];
    expect(first.events[0]?.message).toBe("Created endpoint ep-new.");
    expect(again.events[0]?.message).toContain("in place of the one that was lost");
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
    const { acting, known, made, send } = creating(type, mark);
    await acting.cluster.clock.advance(5000);
    let marked: unknown;
    acting.answer = () => {
      marked = pendingCreateOf(acting.compute());
      return json(201, { endpoint: made, operations: [] });
    };
    await send();
    expect(marked).toMatchObject(sentWith);
    expect([pendingCreateOf(acting.compute())]).toMatchObject([kept]);
    expect([known.pendingCreate]).toMatchObject([kept === undefined ? undefined : { seenAt: 0 }]);
  });

  test("what a refused POST puts back of a mark before it does not fit the mark of the next, however late", async () => {
    const { acting, send } = creating("read_write", { branchID: "br-old" });
    const { clock } = acting.cluster;
    acting.cluster.fate = ({ body }) =>
      /"add"[^}]*br-old[^}]*}"}]$/.test(JSON.stringify(body))
        ? { kind: "answered", arriveMs: 8000, replyMs: 0 }
        : undefined;
    acting.answer = () => refusal(423);
    const sends = [send()];
    await clock.advance(5000);
    acting.answer = () => Promise.reject(new NoResponseError("reset"));
    sends.push(send());
    await clock.advance(1000);
    expect(pendingCreateOf(acting.compute())).toMatchObject({ branchID: "br-main", posts: 3 });
    await clock.advance(10_000);
    expect(pendingCreateOf(acting.compute())).toMatchObject({ branchID: "br-main", posts: 3 });
    const [first, second] = await Promise.allSettled(sends);
    expect([first?.status, second?.status]).toEqual(["rejected", "fulfilled"]);
  });

  test("a refused POST puts the mark before it back, which another branch may have", async () => {
    const { acting, send } = creating("read_write", { branchID: "br-old" });
    const before = acting.annotation("pending-create");
    acting.answer = () => refusal(423);
    await send();
    expect(JSON.parse(acting.annotation("pending-create") ?? "")).toEqual(JSON.parse(before ?? ""));
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

  function changing(status: object = {}, remembered: Parameters<Acting["remember"]>[0] = {}) {
    const acting = new Acting();
    const self = acting.stored({
      metadata: linked,
      spec: { pooler: { enabled: true } },
      status: { ...settled, ...status },
    });
    acting.answer = () => json(200, { endpoint: endpoint({ pooler_enabled: true }), operations: [operation()] });
    return {
      acting,
      self,
      known: acting.remember(remembered),
      send: (more: Partial<Patch> = {}) => patchEndpoint({ ...action, ...more }, acting.context(self), acting.access),
    };
  }

  test("when it ended, for every Compute with the same link, and what is to be seen in the next lists", async () => {
    const failedWrite = { write: "", reason: "Rejected", message: "", until: 0, failures: 3 } as const;
    const { acting, known, send } = changing({}, { failedWrite });
    await acting.cluster.clock.advance(700);
    const outcome = await send();
    expect(known).toMatchObject({
      listsCountAfter: 700,
      patched: { generation: 1, fields: ["pooler"], listsWithout: [], at: 700, tries: 0 },
      applied: { generation: 1, drift: [] },
      corrections: [],
    });
    expect(known.failedWrite).toBeUndefined();
    expect(acting.access.lister.writtenAt("ep-one")).toBe(700);
    expect(outcome).toMatchObject({
      effect: { endpoint: { id: "ep-one" }, operations: [{ id: "op-1" }] },
      events: [{ reason: "Patched" }],
    });
  });

  test("how often it was tried for the same generation", async () => {
    const { acting, known, send } = changing();
    await send();
    await send();
    expect(known.patched).toMatchObject({ tries: 1 });
    const earlier = acting.remember({
      patched: { fields: [], branchID: "", listsWithout: [], at: 0, tries: 1, generation: 0 },
    });
    await send();
    expect(earlier.patched).toMatchObject({ generation: 1, tries: 0 });
  });

  test("the drift that was reported, from the status or, if that was wiped, from before", async () => {
    const reported = changing({ drift: [drift] });
    await reported.send();
    expect(reported.known.applied?.drift).toEqual([drift]);
    const wiped = changing({}, { applied: { generation: 1, drift: [drift] } });
    await wiped.send();
    expect(wiped.known.applied?.drift).toEqual([drift]);
  });

  test("each correction of drift, the last ten, to notice a tug-of-war", async () => {
    const { known, send } = changing();
    for (const _ of Array.from({ length: 12 })) await send({ corrects: [drift] });
    expect(known.corrections).toHaveLength(10);
    expect(known.corrections[9]).toEqual({ generation: 1, at: 0 });
  });

  test("a move is reported as such", async () => {
    const { send } = changing();
    const { events } = await send({ attributes: { branch_id: "br-next" }, fields: ["branchID"], progress: "Moving" });
    expect(events).toMatchObject([{ reason: "Moved", message: expect.stringContaining("br-next") }]);
  });

  test("that it failed: the same again waits twice as long, another or through another key does not", async () => {
    const { acting, known, send } = changing();
    acting.answer = () => refusal(503, "later");
    const waits = [msOf(await send()), msOf(await send())];
    expect(known.failedWrite?.failures).toBe(1);
    expect(known.failedWrite?.through).toBe(acting.access.lister.client.through);
    waits.push(msOf(await send({ attributes: { pooler_enabled: false } })));
    await send();
    if (known.failedWrite !== undefined) acting.remember({ failedWrite: { ...known.failedWrite, through: "another" } });
    waits.push(msOf(await send()));
    expect(waits).toEqual([1000, 2000, 1000, 1000]);
  });
});

describe("of a restart is remembered", () => {
  test("that it was done, when it ended, and its operations", async () => {
    const { acting, self } = standing();
    await acting.cluster.clock.advance(700);
    const known = acting.remember({
      failedWrite: { write: "", reason: "Rejected", message: "", until: 0, failures: 3 },
    });
    const { lister } = acting.access;
    acting.answer = (what) =>
      what.startsWith("GET")
        ? json(200, { operations: [] })
        : json(200, { endpoint: endpoint(), operations: [operation()] });
    const outcome = await restartEndpoint(
      { kind: "restart", endpointID: "ep-one", value: "now" },
      acting.context(self),
      acting.access,
    );
    expect(known).toMatchObject({ restarted: "now", listsCountAfter: 700 });
    expect(outcome.effect).toMatchObject({ kind: "restarted", value: "now" });
    expect(known.failedWrite).toBeUndefined();
    expect(lister.writtenAt("ep-one")).toBe(700);
    expect(lister.operations.followed.writesRunningAt(0)).toBe(1);
    expect(operationsIn(outcome)).toMatchObject([{ id: "op-1" }]);
  });

  test("also where it only shows that it was done", async () => {
    const { acting, self } = standing();
    await acting.execute({ kind: "restarted", endpointID: "ep-one", value: "now" }, self);
    expect(acting.tools.state.known.restarted).toBe("now");
  });
});
