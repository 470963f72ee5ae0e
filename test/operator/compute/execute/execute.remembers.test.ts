import { describe, expect, test } from "vitest";
import { createEndpoint } from "../../../../src/operator/compute/execute/create.ts";
import { restartEndpoint } from "../../../../src/operator/compute/execute/restart.ts";
import { patchEndpoint } from "../../../../src/operator/compute/execute/update.ts";
import { operationsIn } from "../../../../src/operator/compute/outcome.ts";
import type { Action } from "../../../../src/operator/compute/plan/action.ts";
import { endpoint, madeBy, operation } from "../../../support/builders.ts";
import { json, refusal } from "../../../support/scripted-service.ts";
import { Acting, linked, msOf, poolerPatch, settled, standing } from "./executing.ts";

type Create = Extract<Action, { kind: "create" }>;
type Patch = Extract<Action, { kind: "patch" }>;

/** What the next plan goes by: all of it is written by what was sent. */
describe("of a create is remembered", () => {
  test("a create is remembered: the endpoint that it made, the generation that it has, when it ended, and its operations", async () => {
    const acting = new Acting();
    const self = acting.stored();
    const made = madeBy(self, { id: "ep-new" });
    acting.answer = () => json(201, { endpoint: made, operations: [operation({ endpoint_id: "ep-new" })] });
    await acting.cluster.clock.advance(700);
    const failedWrite = { write: "", reason: "Rejected", message: "", until: 0, failures: 3 } as const;
    const known = acting.remember({ failedWrite });
    const attributes = { branch_id: "br-main", type: "read_write", ...(made.name && { name: made.name }) };
    const action: Create = { kind: "create", attributes, newest: undefined, lost: false };
    const outcome = await createEndpoint(action, acting.context(self), acting.access);
    expect(known).toMatchObject({
      write: { phase: "open", made: "ep-new", openedAt: 700 },
      accepted: { endpointID: "ep-new", generation: 1, drift: [] },
      lists: { countAfter: 700 },
    });
    expect(known.failedWrite).toBeUndefined();
    expect(outcome.effect).toMatchObject({ endpoint: made, operations: [{ endpoint_id: "ep-new" }] });
    expect(acting.access.lister.operations.followed.isBusyWith("ep-new")).toBe(true);
  });
});

describe("of a change is remembered", () => {
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
      send: (more: Partial<Patch> = {}) =>
        patchEndpoint({ ...poolerPatch, ...more }, acting.context(self), acting.access),
    };
  }

  test("the end of a change is remembered, for every Compute with the same link, and what is to be seen in the next lists", async () => {
    const failedWrite = { write: "", reason: "Rejected", message: "", until: 0, failures: 3 } as const;
    const { acting, known, send } = changing({}, { failedWrite });
    await acting.cluster.clock.advance(700);
    const outcome = await send();
    expect(known).toMatchObject({
      lists: { countAfter: 700 },
      patched: { generation: 1, fields: ["pooler"], listsWithout: [], at: 700, tries: 0 },
      accepted: { generation: 1, drift: [] },
      corrections: [],
    });
    expect(known.failedWrite).toBeUndefined();
    expect(acting.access.lister.writtenAt("ep-one")).toBe(700);
    expect(outcome).toMatchObject({
      effect: { endpoint: { id: "ep-one" }, operations: [{ id: "op-1" }] },
      events: [{ reason: "Patched" }],
    });
  });

  test("the number of tries of a change for the same generation is remembered", async () => {
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

  test("the drift that was reported is remembered, from the status or, if that was wiped, from before", async () => {
    const reported = changing({ drift: [drift] });
    await reported.send();
    expect(reported.known.accepted?.drift).toEqual([drift]);
    const wiped = changing({}, { accepted: { endpointID: "ep-one", generation: 1, drift: [drift] } });
    await wiped.send();
    expect(wiped.known.accepted?.drift).toEqual([drift]);
  });

  test("each correction of drift is remembered, the last ten, to notice a tug-of-war", async () => {
    const { known, send } = changing();
    for (const _ of Array.from({ length: 12 })) await send({ corrects: [drift] });
    expect(known.corrections).toHaveLength(10);
    expect(known.corrections[9]).toEqual({ generation: 1, at: 0 });
  });

  test("a failed change is remembered: the same again waits twice as long, another or through another key does not", async () => {
    const { acting, known, send } = changing();
    acting.answer = () => refusal(503, "later");
    const waits = [msOf(await send()), msOf(await send())];
    expect(known.failedWrite?.failures).toBe(1);
    expect(known.failedWrite?.fingerprint).toBe(acting.access.lister.client.fingerprint);
    waits.push(msOf(await send({ attributes: { pooler_enabled: false } })));
    await send();
    if (known.failedWrite !== undefined)
      acting.remember({ failedWrite: { ...known.failedWrite, fingerprint: "another" } });
    waits.push(msOf(await send()));
    expect(waits).toEqual([1000, 2000, 1000, 1000]);
  });
});

describe("of a restart is remembered", () => {
  test("a restart is remembered: that it was done, when it ended, and its operations", async () => {
    const { acting, self } = standing();
    await acting.cluster.clock.advance(700);
    const known = acting.remember({
      failedWrite: { write: "", reason: "Rejected", message: "", until: 0, failures: 3 },
    });
    const { lister } = acting.access;
    acting.answer = () => json(200, { endpoint: endpoint(), operations: [operation()] });
    const outcome = await restartEndpoint(
      { kind: "restart", endpointID: "ep-one", value: "now", startedAt: undefined },
      acting.context(self),
      acting.access,
    );
    expect(known).toMatchObject({
      handled: { restartedAt: "now" },
      lists: { countAfter: 700 },
      write: { phase: "closed" },
    });
    expect(outcome.effect).toMatchObject({ kind: "restarted", value: "now" });
    expect(known.failedWrite).toBeUndefined();
    expect(lister.writtenAt("ep-one")).toBe(700);
    expect(lister.operations.followed.writesRunningAt(0)).toBe(1);
    expect(operationsIn(outcome)).toMatchObject([{ id: "op-1" }]);
  });

  test("a restart is remembered also where it only shows that it was done", async () => {
    const { acting, self } = standing();
    await acting.execute({ kind: "restarted", endpointID: "ep-one", value: "now" }, self);
    expect(acting.tools.state.known.handled.restartedAt).toBe("now");
  });
});
