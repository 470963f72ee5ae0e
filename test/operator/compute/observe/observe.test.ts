import { describe, expect, test } from "vitest";
import { observe } from "../../../../src/operator/compute/observe/observe.ts";
import { RequestBudget } from "../../../../src/operator/service-client/budget.ts";
import { RequestReservation } from "../../../../src/operator/service-client/request-reservation.ts";
import { madeBy, operation, recordOf } from "../../../support/builders.ts";
import { json, refusal } from "../../../support/scripted-service.ts";
import { observing, reported } from "./observing.ts";

const pause = { kind: "unavailable", reason: "RateLimited", message: expect.stringContaining("it asked for a pause") };

describe("without a list", () => {
  test("a connection that is closed says why", async () => {
    const { observeNow, reach } = await observing();
    reach.connections = [];
    const message = expect.stringContaining('There is no ServiceConnection "default"');
    expect(await observeNow()).toMatchObject({
      kind: "unavailable",
      reason: "ConnectionNotFound",
      message,
      projectGone: false,
    });
  });

  test("one that is about to be ready is reconciled again soon, in case its event is missed", async () => {
    const { subject, state, access, connection, observeNow, reach } = await observing();
    const soon = { kind: "pending", requeueAfterMs: 10_000 };
    expect(await observe(subject(), state.known, connection(), undefined)).toMatchObject(soon);
    expect(await observe(subject(), state.known, { kind: "pending" }, access)).toMatchObject(soon);
    expect(await observeNow()).toMatchObject({ kind: "pending" });
    expect(reach.sent()).toEqual([]);
  });
});

describe("lists that fail", () => {
  test("failing lists are reported at once if the conditions are not of the present spec yet", async () => {
    const { reach, seen, through } = await observing();
    reach.answer = () => refusal(500);
    expect(await seen(500)).toMatchObject({
      kind: "unavailable",
      reason: "ServiceUnavailable",
      message: expect.any(String),
      projectGone: false,
      fingerprint: through,
    });
  });

  test.each([
    ["the conditions speak of it", reported()],
    ["it is paused", reported("Paused", 0)],
  ])("failing lists are reported only when nothing is seen any more if %s", async (_, status) => {
    const { reach, seen, observeNow, clock } = await observing({ status });
    reach.answer = () => refusal(500);
    expect(await seen(500)).toMatchObject({ kind: "pending" });
    await clock.advance(180_000);
    expect(await observeNow()).toMatchObject({ kind: "unavailable", reason: "ServiceUnavailable" });
  });

  test("failing lists are reported in the same words during and between the pauses that the service asks for", async () => {
    const { reach, seen, clock, observeNow, session, through } = await observing();
    reach.answer = () => ({ ...refusal(429, "slow down"), retryAfterMs: 1 });
    const asked = { ...pause, projectGone: false, fingerprint: through };
    expect(await seen(500)).toMatchObject(asked);
    reach.answer = () => refusal(500);
    await clock.advance(60_000);
    expect(await observeNow()).toMatchObject({ reason: "ServiceUnavailable" });
    session.budget.closeFor(60_000);
    expect(await observeNow()).toMatchObject(asked);
  });

  test.each([
    [404, "ProjectNotFound"],
    [403, "Forbidden"],
  ])("lists that are refused with %i are reported as that, also during a pause", async (code, reason) => {
    const { reach, seen, clock, observeNow, session } = await observing({ status: reported() });
    reach.answer = () => refusal(code);
    await seen(500);
    await clock.advance(10_000);
    session.budget.closeFor(60_000);
    expect(await observeNow()).toMatchObject({ kind: "unavailable", reason });
  });

  test("failing lists are no reason to wait in silence during a long pause, but for one whose conditions say it", async () => {
    const [news, quiet] = [await observing(), await observing({ status: reported() })];
    for (const { session } of [news, quiet]) session.budget.closeFor(60_000);
    expect(await news.observeNow()).toMatchObject({ ...pause, projectGone: false, fingerprint: news.through });
    expect(await quiet.observeNow()).toMatchObject({ kind: "pending" });
  });
});

describe("a project that is not found", () => {
  const status = { observedThrough: undefined };
  const gone = async (fields: Parameters<typeof observing>[0], observedThroughThis: boolean, code = 404) => {
    const one = await observing(fields);
    const { self, reach, through, observeNow, seen, clock } = one;
    reach.answer = ({ path }) =>
      path === "/projects" ? json(200, { projects: [{ id: "another" }] }) : refusal(code, "no project");
    const known = { ...self, status: { ...self.status, ...(observedThroughThis ? { observedThrough: through } : {}) } };
    await seen(0);
    await clock.advance(10_000);
    reach.sent();
    const observation = await observeNow(known);
    return { gone: observation.kind === "unavailable" && observation.projectGone, asked: reach.sent().length > 0 };
  };

  test.each([
    ["by the key that has shown it, while the Compute is deleted", { deleting: true }, true, 404, true],
    ["by another key", { deleting: true }, false, 404, false],
    ["while the Compute stays", {}, true, 404, false],
    ["by a key that is not allowed to see it", { deleting: true }, true, 403, false],
    ["where there is nothing to lose", { deleting: true, unlinked: true, status }, false, 404, true],
  ])("%s", async (_, fields, known, code, expected) => {
    expect((await gone(fields, known, code)).gone).toBe(expected);
  });

  test.each(["create", "takeover"])(
    "a missing project with a recorded %s counts where that was sent to the same base URL",
    async (recorded) => {
      const { session } = await observing();
      const pending = (through: string) => ({
        deleting: true,
        unlinked: true,
        status: { ...status, pendingWrite: recordOf({ operation: recorded, through }) },
      });
      expect((await gone(pending(session.baseURL), false)).gone).toBe(true);
      expect((await gone(pending("https://another/api/v2"), false)).gone).toBe(false);
    },
  );
});

describe("what a list is for", () => {
  const handled = { lastHandledReconcileAt: "before" };
  test.each([
    ["what is under way", {}, "follow"],
    ["what is in progress, after a refresh", { status: handled }, "follow"],
    ["a deletion", { deleting: true }, "resolve"],
    ["a create that is open", { status: { pendingWrite: recordOf() } }, "resolve"],
    [
      "a create whose record is written, and that was refused",
      { unlinked: true, status: { appliedGeneration: 1 } },
      "plan",
    ],
    ["a change still to be sent", { status: { appliedGeneration: 0 } }, "plan"],
    ["a requested refresh", { annotations: { reconcileRequestedAt: "now" }, status: handled }, "plan"],
    ["a restart that is open", { status: { pendingWrite: recordOf({ operation: "restart" }) } }, "plan"],
  ])("%s", async (_, fields, priority) => {
    const { observeNow, wanted, state, self, clock } = await observing({ shows: "Active", ...fields });
    state.noteVersion(self, clock.monotonic());
    await observeNow();
    expect(wanted).toEqual([priority]);
  });
});

describe("operations", () => {
  const running = {
    id: "op-1",
    action: "start_compute",
    status: "running",
    createdAt: "2026-01-01T00:00:00Z",
    updatedAt: "2026-01-01T00:00:01Z",
  };

  test("operations that ran when an earlier process stopped are followed", async () => {
    const { id, action, status } = running;
    const bare = { id: "op-2", action, status };
    const unread = { id: "op-3", action, status: "unknown" };
    const { reach, observeNow, clock, lister } = await observing({ status: { operations: [running, bare, unread] } });
    reach.answer = ({ path }) => (path.includes("/operations/") ? refusal(500) : undefined);
    await observeNow();
    await clock.advance(100);
    const followed = { endpoint_id: "ep-one", project_id: "shiny-wind-028834", action, status };
    const expected = [
      { id, ...followed, created_at: "2026-01-01T00:00:00Z", updated_at: "2026-01-01T00:00:01Z" },
      { id: "op-2", ...followed },
    ];
    const observation = await observeNow();
    expect(observation).toMatchObject({ kind: "observed", operations: expect.arrayContaining(expected) });
    expect(lister.operations.followed.of("ep-one")).toHaveLength(2);
  });

  test("operations of a Compute that has no endpoint any more are not followed", async () => {
    const { seen, lister } = await observing({ unlinked: true, status: { operations: [running] } });
    await seen();
    expect(lister.operations.followed.writesRunningAt(0)).toBe(0);
  });

  const restart = { status: { endpointID: "ep-one", pendingWrite: recordOf({ operation: "restart" }) } };
  const failed = { shows: "OperationFailed" };
  const answers = ({ path }: { path: string }) =>
    path.endsWith("/operations") ? json(200, { operations: [operation({ status: "finished" })] }) : undefined;
  const lookedUp = [operation({ status: "finished" })];

  test.each([
    ["a restart that is open: its start time shows what became of it", restart, false],
    ["an operation that failed", failed, true],
    ["nothing else", {}, false],
    ["an endpoint that lists lack", { ...failed, linked: "ep-gone" }, false],
  ])("operations are looked up for %s", async (_, fields, expected) => {
    const { reach, seen } = await observing(fields);
    reach.answer = answers;
    const observation = await seen();
    expect(observation.kind === "observed" ? observation.lookedUp : "not listed").toEqual(
      expected ? lookedUp : undefined,
    );
    expect(reach.sent().includes("GET operations")).toBe(expected);
  });

  test("operations are not known where the service does not show them", async () => {
    const { reach, seen } = await observing(failed);
    reach.answer = ({ path }) => (path.endsWith("/operations") ? refusal(404) : undefined);
    const observation = await seen();
    expect(observation.kind === "observed" && "lookedUp" in observation).toBe(false);
    expect(observation.kind).toBe("observed");
  });

  test("wait for the budget; during a pause the Compute goes on without them", async () => {
    const { subject, seen, clock, access, reach, state, connection } = await observing(failed);
    await seen();
    reach.sent();
    const budget = new RequestBudget(clock, { perMinute: 1, burst: 1 });
    budget.takeSpare();
    const reservation = new RequestReservation(budget, "self", () => {});
    const observeNow = () => observe(subject(), state.known, connection(), { ...access, reservation });
    expect(await observeNow()).toMatchObject({ kind: "pending" });
    budget.closeFor(1000);
    const observation = await observeNow();
    expect(observation.kind).toBe("observed");
    expect(reach.sent()).toEqual([]);
  });
});

test("an endpoint that another Compute wrote to is seen in a list begun after that", async () => {
  const { seen, observeNow, clock, lister, self } = await observing();
  expect(await seen()).toMatchObject({ kind: "observed" });
  await clock.advance(100);
  lister.wrote("ep-one");
  expect(await observeNow()).toMatchObject({ kind: "pending" });
  await clock.advance(3000);
  expect(await observeNow()).toMatchObject({ kind: "observed", links: { link: { endpoint: madeBy(self) } } });
});

test.each([
  ["just now waits for branches as new as that", "br-main", "pending"],
  ["long ago waits for no newer branches", "br-other", "observed"],
])("an endpoint that left the branch of its name %s", async (_, branchID, kind) => {
  const { reach, clock, lister, self, seen, observeNow } = await observing({
    spec: { branchID: undefined, branchName: "main" },
    status: { branchID, resolvedBranch: { name: "main", id: "br-main" } },
  });
  reach.answer = ({ path }) =>
    path.endsWith("/branches") ? json(200, { branches: [{ id: "br-main", name: "main" }] }) : undefined;
  lister.branches.use(self.metadata.uid, "main");
  await clock.advance(3000);
  reach.endpoints.set("ep-one", { ...madeBy(self), branch_id: "br-other" });
  lister.listedAfter(clock.monotonic(), self.metadata.uid, "plan");
  await clock.advance(3000);
  expect((await observeNow()).kind).toBe(kind);
  expect(await seen()).toMatchObject({ kind: "observed", named: { ids: ["br-main"] } });
});
