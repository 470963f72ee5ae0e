import { describe, expect, test } from "vitest";
import { execute } from "../../../../src/operator/compute/execute/execute.ts";
import { type Outcome, shown, unchanged } from "../../../../src/operator/compute/outcome.ts";
import { type Action, identityOf, type WriteAction } from "../../../../src/operator/compute/plan/action.ts";
import { after } from "../../../../src/operator/life/outcome.ts";
import { DeletionBrake } from "../../../../src/operator/project/deletion-brake.ts";
import { compute } from "../../../support/builders.ts";
import { refusal } from "../../../support/scripted-service.ts";
import { VirtualClock } from "../../../support/virtual-clock.ts";
import { Acting, linked, poolerPatch, settled } from "./executing.ts";

const attributes = { branch_id: "br-main", type: "read_write" };
const create: Action = { kind: "create", attributes, newest: undefined, lost: false };
const restart: WriteAction = { kind: "restart", endpointID: "ep-one", value: "now", startedAt: undefined };
const remove: WriteAction = { kind: "delete", endpointID: "ep-one", why: "duplicate" };
const confirm: Action = { kind: "confirmDeletion", endpointID: "ep-one", after: "lost" };

/** One whose writes wait for the brake, their project, or the budget, of which so much is left. */
function waiting(wait?: "brake" | "project" | "budget", { waitMs = 6000, closedForMs = 0 } = {}) {
  const acting = new Acting({}, {}, new DeletionBrake(new VirtualClock(), wait === "brake" ? 0 : 10));
  const self = acting.stored({ metadata: linked, status: settled });
  const { access } = acting;
  if (wait === "project") access.lister.writeLimiter.take("another");
  const reservation = { tryTake: () => wait !== "budget", waitMs, closedForMs };
  const gate =
    wait === "budget" ? { pass: () => "budget" as const, answered: () => {}, waitsAgain: true } : access.gate;
  const send = (action: Action, one = self) =>
    execute(action, { ...acting.context(one), access: { ...access, reservation, gate } });
  return { acting, self, send };
}

describe("a write that waits", () => {
  test.each<[WriteAction["kind"], Action, string]>([
    ["create", create, "Creating"],
    ["patch", poolerPatch, "Updating"],
    ["restart", restart, "Restarting"],
    ["delete", remove, "Deleting"],
  ])("a waiting write says what it is to become, and is woken: a %s", async (_, action, reason) => {
    const { acting, send } = waiting("project", { closedForMs: 60_000 });
    const outcome = await send(action);
    expect(outcome).toMatchObject({ condition: { kind: "shown", reason }, requeue: { kind: "enqueued" }, events: [] });
    expect(acting.effects).toEqual([]);
  });

  test("a write is not said to wait where its project is reported busy: that lasts until a write is accepted", async () => {
    const busy = compute({ linked: "ep-one", shows: "ProjectBusy" });
    const waits = { condition: { kind: "unchanged" }, requeue: { kind: "enqueued" } };
    expect(await waiting("project").send(poolerPatch, busy)).toMatchObject(waits);
    const condition = { kind: "shown", reason: "Updating", message: expect.stringContaining("request budget") };
    expect(await waiting("budget").send(poolerPatch, busy)).toMatchObject({ condition });
    const ofProject = { kind: "shown", message: expect.stringContaining("another operation runs") };
    expect(await waiting("project").send(poolerPatch)).toMatchObject({ condition: ofProject });
  });

  test.each(["project", "budget", "brake"] as const)(
    "a write that waits for its %s keeps the reason that it failed for, until another is shown or another write waits",
    async (wait) => {
      const { acting, send } = waiting(wait);
      const [action, other] = wait === "brake" ? [remove, { ...remove, endpointID: "ep-two" }] : [poolerPatch, restart];
      const failed = compute({ linked: "ep-one", shows: "ServiceUnavailable" });
      const { fingerprint } = acting.access.client;
      const write = identityOf(action, failed.metadata.generation ?? 0);
      const failure = { write, fingerprint, reason: "ServiceUnavailable", message: "HTTP 500", failures: 1 } as const;
      acting.tools.state.failed(failure, 1000, 0);
      const kept = { condition: { kind: "unchanged" }, requeue: { kind: "enqueued" }, events: [] };
      expect(await send(action, failed)).toMatchObject(kept);
      expect((await send(other, failed)).condition.kind).toBe("shown");
      expect((await send(action, compute({ linked: "ep-one", shows: "Idle" }))).condition.kind).toBe("shown");
    },
  );

  test.each<[string, Action, string]>([
    ["patch", poolerPatch, "Waiting: another operation runs in project shiny-wind-028834. The change follows."],
    ["restart", restart, "Waiting: another operation runs in project shiny-wind-028834. The restart follows."],
    [
      "deletion",
      remove,
      "Waiting: another operation or deletion runs in project shiny-wind-028834. The deletion of endpoint ep-one follows.",
    ],
  ])("a waiting write says for its project what follows: a %s", async (_, action, message) => {
    expect((await waiting("project").send(action)).condition).toMatchObject({ message });
  });

  test("a write is not said to wait if it only renews a signature, on which nothing depends", async () => {
    const sign = { kind: "sign", endpointID: "ep-one", name: "k8s-a" } as const;
    const renewal = await waiting("project").send({ ...sign, takesOver: false });
    expect(renewal).toMatchObject({ condition: { kind: "unchanged" }, requeue: { kind: "enqueued" } });
    const takeover = await waiting("project").send({ ...sign, takesOver: true });
    expect(takeover).toMatchObject({ condition: { kind: "shown", reason: "Updating" }, requeue: { kind: "enqueued" } });
  });

  test("a write that waits for the brake is an event too", async () => {
    const { send } = waiting("brake");
    expect(await send(remove)).toMatchObject({
      condition: { reason: "Deleting", message: expect.stringMatching(/^Waiting: --max-deletes-per-minute/) },
      requeue: { kind: "enqueued" },
      events: [{ type: "Warning", reason: "Deleting" }],
    });
  });

  test("a write that waits for the brake says so after it waited for its project, once, and for its project nothing after the brake", async () => {
    const reported = ({ condition }: Outcome) => {
      if (condition.kind !== "shown") throw new Error("nothing is reported");
      const { reason, message } = condition;
      const ready = { type: "Ready", status: "False", reason, message, lastTransitionTime: "2026-01-01T00:00:00Z" };
      return compute({ linked: "ep-one", status: { conditions: [ready] } });
    };
    const behindProject = reported(await waiting("project").send(remove));
    const behindBrake = reported(await waiting("brake").send(remove, behindProject));
    expect((await waiting("brake").send(remove, behindBrake)).condition).toEqual({ kind: "unchanged" });
    expect((await waiting("project").send(remove, behindBrake)).condition).toEqual({ kind: "unchanged" });
  });

  test.each(["brake", "project"] as const)(
    "a write that waits for its %s says nothing in the first two seconds",
    async (wait) => {
      const { acting, send } = waiting(wait);
      const deletionTimestamp = new Date(acting.cluster.clock.now()).toISOString();
      const self = compute({ linked: "ep-one" });
      const going = { ...self, metadata: { ...self.metadata, deletionTimestamp } };
      expect(await send(remove, going)).toMatchObject({
        condition: { kind: "unchanged" },
        requeue: { ms: 2000 },
        events: [],
      });
      await acting.cluster.clock.advance(3000);
      expect(await send(remove, going)).toMatchObject({
        condition: { reason: "Deleting" },
        requeue: { kind: "enqueued" },
      });
    },
  );

  test("a waiting write changes nothing where the status speaks of it already", async () => {
    const { send } = waiting("project");
    const reported = compute({ linked: "ep-one", shows: "Updating" });
    expect(await send(poolerPatch, reported)).toMatchObject({
      condition: { kind: "unchanged" },
      requeue: { kind: "enqueued" },
    });
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
  ])("a write that waits for the budget %s", async (_, reservation, condition) => {
    const { send } = waiting("budget", reservation);
    expect(await send(poolerPatch)).toMatchObject({ condition, requeue: { kind: "enqueued" }, events: [] });
  });
});

describe("the own GET of an endpoint", () => {
  test.each([
    ["waits for the budget", 0, { kind: "unchanged" }],
    ["says that the service asks for a long pause", 5001, { kind: "shown", reason: "RateLimited" }],
  ])("%s", async (_, closedForMs, condition) => {
    const { acting, send } = waiting("budget", { closedForMs });
    expect(await send(confirm)).toMatchObject({ condition, requeue: { kind: "enqueued" } });
    expect(acting.effects).toEqual([]);
  });

  test.each([
    [403, "Forbidden"],
    [429, "RateLimited"],
  ])("a GET that is answered %i says so", async (status, reason) => {
    const { acting, send } = waiting();
    acting.answer = () => refusal(status);
    const outcome = await send(confirm);
    expect(outcome).toMatchObject({ condition: { kind: "shown", reason } });
    expect(outcome.requeue).toEqual({ kind: "byReason" });
  });
});

describe("an action that sends nothing", () => {
  const { acting, self, send } = waiting();
  const said = { reason: "Conflict", message: "taken" } as const;

  test.each<[string, Action, object]>([
    ["leaves everything as it is", { kind: "noop", requeueAfterMs: 700 }, { requeue: after(700) }],
    ["leaves everything as it is until there is news", { kind: "noop" }, {}],
    ["waits", { kind: "wait", ...said }, { condition: { kind: "shown", ...said } }],
    [
      "waits so long",
      { kind: "wait", ...said, requeueAfterMs: 700 },
      { condition: { kind: "shown", ...said }, requeue: after(700) },
    ],
    [
      "is blocked by another Compute",
      { kind: "blocked", ...said, ownedByOther: true },
      { condition: { kind: "shown", ...said }, effect: { kind: "ownedByOther" } },
    ],
  ])("%s", async (_, action, expected) => {
    expect(await send(action)).toEqual({ ...unchanged(self), ...expected });
    expect(acting.effects).toEqual([]);
  });

  test.each([
    ["forgets what failed", {}, {}],
    ["says when to reconcile again", { requeueAfterMs: 700 }, { requeue: after(700) }],
  ])("an action that sends nothing and is settled %s", async (_, more, expected) => {
    const failedWrite = { write: "", reason: "Rejected", message: "", until: 0, failures: 3 } as const;
    const known = acting.remember({ failedWrite });
    const drift = [{ field: "pooler", ours: "true", theirs: "false" }];
    const outcome = await send({ kind: "settled", reason: "Drifted", message: "differs", drift, ...more });
    const effect = { kind: "settled", drift } as const;
    expect(outcome).toEqual(shown(self, "Drifted", "differs", { effect, ...expected }));
    expect(known.failedWrite).toBeUndefined();
  });

  test("an action without a connection that is open sends nothing", async () => {
    const outcome = await execute(poolerPatch, { ...acting.context(self), access: undefined });
    expect(outcome).toMatchObject({ compute: self, condition: { kind: "unchanged" } });
    expect(acting.effects).toEqual([]);
  });
});

describe("a write to a member of a pool", () => {
  test.each([
    [false, 0],
    [true, 1],
  ])("a write that cuts connections is sent while the member has its turn: %s", async (hasTurn, sent) => {
    const acting = new Acting({ hasTurn: () => hasTurn });
    const self = acting.stored({ metadata: linked, status: settled });
    const outcome = await execute(restart, { ...acting.context(self), access: acting.access });
    expect(acting.service.count("POST")).toBe(sent);
    expect(outcome.requeue.kind === "now").toBe(!hasTurn);
  });
});
