import { describe, expect, test } from "vitest";
import { DeletionBrake } from "../../../../src/operator/compute/execute/deletion-brake.ts";
import { execute } from "../../../../src/operator/compute/execute/execute.ts";
import type { Action, WriteAction } from "../../../../src/operator/compute/plan/action.ts";
import { compute, endpoint } from "../../../support/builders.ts";
import { json, refusal } from "../../../support/scripted-service.ts";
import { VirtualClock } from "../../../support/virtual-clock.ts";
import { Acting, linked, settled } from "./executing.ts";

const attributes = { branch_id: "br-main", type: "read_write" };
const create: Action = { kind: "create", attributes, mark: { branchID: "br-main", through: "here" }, lost: false };
const patch: Action = {
  kind: "patch",
  endpointID: "ep-one",
  attributes: { pooler_enabled: true },
  fields: ["pooler"],
  progress: "Updating",
  corrects: [],
};
const restart: Action = { kind: "restart", endpointID: "ep-one", value: "now" };
const remove: Action = { kind: "delete", endpointID: "ep-one", why: "surplus" };
const confirm: Action = { kind: "confirmDeletion", endpointID: "ep-one", after: "lost" };

/** One whose writes wait for the brake, their turn, or the budget, of which so much is left. */
function waiting(wait?: "brake" | "turn" | "budget", { waitMs = 6000, closedForMs = 0 } = {}) {
  const acting = new Acting({}, {}, new DeletionBrake(new VirtualClock(), wait === "brake" ? 0 : 10));
  const self = acting.stored({ metadata: linked, status: settled });
  const { hands } = acting;
  if (wait === "turn") hands.watcher.writeLimiter.take("another");
  const reservation = { tryTake: () => wait !== "budget", waitMs, closedForMs };
  const gate = wait === "budget" ? { pass: () => "budget" as const } : hands.gate;
  const send = (action: Action, one = self) => execute(action, one, hands, { ...hands, reservation, gate });
  return { acting, self, send };
}

describe("a write that waits", () => {
  test.each<[WriteAction["kind"], Action, string]>([
    ["create", create, "Creating"],
    ["patch", patch, "Updating"],
    ["restart", restart, "Restarting"],
    ["delete", remove, "Deleting"],
  ])("says what it is to become, and is woken: a %s", async (_, action, reason) => {
    const { acting, send } = waiting("turn", { closedForMs: 60_000 });
    const outcome = await send(action);
    expect(outcome).toMatchObject({ condition: { kind: "shown", reason }, isWoken: true, notes: [] });
    expect(acting.effects).toEqual([]);
  });

  test("for the brake is an event too", async () => {
    const { send } = waiting("brake");
    expect(await send(remove)).toMatchObject({
      condition: { reason: "Deleting" },
      isWoken: true,
      notes: [{ type: "Warning", reason: "Deleting" }],
    });
  });

  test("changes nothing where the status speaks of it already", async () => {
    const { send } = waiting("turn");
    const told = compute({ linked: "ep-one", shows: "Updating" });
    expect(await send(patch, told)).toMatchObject({ condition: { kind: "unchanged" }, isWoken: true });
  });

  test.each([
    ["says nothing where that is brief", { waitMs: 5000 }, { kind: "unchanged" }],
    ["says so where it is long", { waitMs: 5001 }, { kind: "shown", reason: "Updating" }],
    [
      "says so where the service asks for a long pause",
      { closedForMs: 5001 },
      { kind: "shown", reason: "RateLimited" },
    ],
    ["says nothing of a pause that is brief", { waitMs: 5000, closedForMs: 5000 }, { kind: "unchanged" }],
  ])("for the budget %s", async (_, reservation, condition) => {
    const { send } = waiting("budget", reservation);
    expect(await send(patch)).toMatchObject({ condition, isWoken: true, notes: [] });
  });

  test("is no deletion for the brake, unless it is one", async () => {
    const { acting, send } = waiting("brake");
    acting.answer = () => json(200, { endpoint: endpoint(), operations: [] });
    await send(patch);
    expect(acting.effects).toEqual(["PATCH service/endpoints/ep-one"]);
  });
});

describe("the own GET of an endpoint", () => {
  test.each([
    ["waits for the budget", 0, { kind: "unchanged" }],
    ["says that the service asks for a long pause", 5001, { kind: "shown", reason: "RateLimited" }],
  ])("%s", async (_, closedForMs, condition) => {
    const { acting, send } = waiting("budget", { closedForMs });
    expect(await send(confirm)).toMatchObject({ condition, isWoken: true });
    expect(acting.effects).toEqual([]);
  });

  test.each([
    [403, "Forbidden"],
    [429, "RateLimited"],
  ])("that is answered %i says so", async (status, reason) => {
    const { acting, send } = waiting();
    acting.answer = () => refusal(status);
    const outcome = await send(confirm);
    expect(outcome).toMatchObject({ condition: { kind: "shown", reason } });
    expect(outcome.requeueAfterMs).toBeUndefined();
  });
});

describe("an action that sends nothing", () => {
  const { acting, self, send } = waiting();
  const { memory } = acting.hands;
  const said = { reason: "Conflict", message: "taken" } as const;

  test.each<[string, Action, object]>([
    ["leaves everything as it is", { kind: "noop", requeueAfterMs: 700 }, { requeueAfterMs: 700 }],
    ["leaves everything as it is until there is news", { kind: "noop" }, {}],
    ["waits", { kind: "wait", ...said }, { condition: { kind: "shown", ...said } }],
    [
      "waits so long",
      { kind: "wait", ...said, requeueAfterMs: 700 },
      { condition: { kind: "shown", ...said }, requeueAfterMs: 700 },
    ],
    [
      "is blocked by another Compute",
      { kind: "blocked", ...said, ownedByOther: true },
      { condition: { kind: "shown", ...said }, ownedByOther: true },
    ],
  ])("%s", async (_, action, expected) => {
    const plain = { compute: self, condition: { kind: "unchanged" }, operations: [], notes: [], released: false };
    expect(await send(action)).toEqual({ ...plain, ...expected });
    expect(acting.effects).toEqual([]);
  });

  test.each([
    ["forgets what failed", {}, {}],
    ["says when to look again", { requeueAfterMs: 700 }, { requeueAfterMs: 700 }],
    ["says that no disabling is open", { disablesOver: true as const }, { unansweredDisables: 0 }],
  ])("and is settled %s", async (_, more, expected) => {
    memory.failedWrite = { write: "", reason: "Rejected", message: "", until: 0, failures: 3 };
    const drift = [{ field: "pooler", ours: "true", theirs: "false" }];
    const outcome = await send({ kind: "settled", reason: "Drifted", message: "differs", drift, ...more });
    const condition = { kind: "shown", reason: "Drifted", message: "differs" };
    expect(outcome).toEqual({
      compute: self,
      condition,
      operations: [],
      notes: [],
      released: false,
      drift,
      ...expected,
    });
    expect(memory.failedWrite).toBeUndefined();
  });

  test("without a connection that is open sends nothing", async () => {
    const outcome = await execute(patch, self, acting.hands, undefined);
    expect(outcome).toMatchObject({ compute: self, condition: { kind: "unchanged" } });
    expect(acting.effects).toEqual([]);
  });
});
