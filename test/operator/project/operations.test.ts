import { describe, expect, test } from "vitest";
import type { Operation } from "../../../src/api/operation.ts";
import { OperationTimes } from "../../../src/operator/project/operation-times.ts";
import { Operations } from "../../../src/operator/project/operations.ts";
import { operation } from "../../support/builders.ts";
import { clientOf, json, refusal, ScriptedService } from "../../support/scripted-service.ts";
import { silentLogger } from "../../support/silent-logger.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";
import { firstPollMs } from "../connection/watching.ts";

function following(listed: Operation[] = []) {
  const clock = new VirtualClock();
  const state: { listed: Operation[]; isAtRest: boolean } = { listed, isAtRest: false };
  const service = new ScriptedService(() => json(200, { operations: state.listed }));
  const changes: string[] = [];
  const client = clientOf(service, clock);
  const operations = new Operations({
    log: silentLogger,
    client,
    priority: () => "follow",
    projectID: "shop",
    clock,
    signal: new AbortController().signal,
    times: new OperationTimes(),
    refreshIntervalMs: () => 30_000,
    isAtRestAfter: () => state.isAtRest,
    onPolled: (endpointIDs) => changes.push(...endpointIDs),
  });
  return { clock, state, service, client, operations, changes, polls: () => service.count("/operations") };
}

describe("operations that a write of ours set off", () => {
  test("operations are followed to their end with one call per poll for all, and then nothing is asked", async () => {
    const many = Array.from({ length: 20 }, (_, n) => operation({ id: `op-${n}`, endpoint_id: `ep-${n}` }));
    const { clock, state, operations, changes, polls } = following(many);
    operations.follow(many);
    expect(operations.followed.writesRunningAt(clock.monotonic())).toBe(20);
    await clock.advance(2500);
    expect(polls()).toBe(2);
    expect(changes).toEqual([]);
    state.listed = many.map((one) => ({ ...one, status: "finished" }));
    await clock.advance(2000);
    expect(changes).toHaveLength(20);
    expect(operations.followed.writesRunningAt(clock.monotonic())).toBe(0);
    const asked = polls();
    await clock.advance(600_000);
    expect([polls(), clock.pending]).toEqual([asked, 0]);
  });

  test("operations are asked for no more once they are stopped, though an answer was still on its way", async () => {
    const { clock, service, operations, polls } = following();
    let answer = () => {};
    service.script = () =>
      new Promise((resolve) => {
        answer = () => resolve(json(200, { operations: [operation()] }));
      });
    operations.follow([operation()]);
    await clock.advance(firstPollMs);
    operations.stop();
    answer();
    await clock.advance(60_000);
    expect([polls(), clock.pending]).toEqual([1, 0]);
  });

  test("enqueue the Computes of the endpoint when their status or failures change", async () => {
    const { clock, state, operations, changes } = following([operation({ status: "scheduling" })]);
    operations.follow([operation({ status: "scheduling" })]);
    await clock.advance(firstPollMs);
    state.listed = [operation({ status: "running" })];
    await clock.advance(1000);
    state.listed = [operation({ status: "running", failures_count: 1 })];
    await clock.advance(2000);
    expect(changes).toEqual(["ep-one", "ep-one"]);
  });

  test("operations that were over when we heard of them set off no poll", async () => {
    const { clock, operations, polls } = following();
    operations.follow([operation({ status: "finished" }), operation({ id: "op-2", status: "failed" })]);
    await clock.advance(60_000);
    expect([polls(), operations.followed.writesRunningAt(clock.monotonic())]).toEqual([0, 0]);
    expect(operations.followed.of("ep-one").map(({ id }) => id)).toEqual(["op-2", "op-1"]);
  });
});

describe("an operation of which nothing is heard", () => {
  test.each([
    ["no list shows it", () => json(200, { operations: [] })],
    ["every list fails", () => refusal(500)],
  ])(
    "an operation without news for a minute, for %s, is given up for good, though a status remembers it",
    async (_, script) => {
      const { clock, service, operations, changes, polls } = following();
      service.script = script;
      operations.follow([operation()]);
      await clock.advance(70_000);
      expect(operations.followed.of("ep-one")).toEqual([]);
      expect(changes).toEqual(["ep-one"]);
      const asked = polls();
      operations.follow([operation()]);
      await clock.advance(600_000);
      expect([polls(), operations.followed.writesRunningAt(clock.monotonic()), clock.pending]).toEqual([asked, 0, 0]);
    },
  );

  test.each([404, 400, 403])(
    "an operation at a service that refuses the call (%i) is left to the endpoint's state at once",
    async (status) => {
      const { clock, service, client, operations, changes, polls } = following();
      service.script = () => refusal(status, "this route does not exist");
      operations.follow([operation()]);
      await clock.advance(firstPollMs);
      expect([
        operations.followed.of("ep-one"),
        operations.followed.writesRunningAt(clock.monotonic()),
        changes,
      ]).toEqual([[], 0, []]);
      operations.follow([operation({ id: "op-2" })]);
      await clock.advance(60_000);
      expect([polls(), operations.followed.of("ep-one")]).toEqual([1, []]);
      expect(await operations.latest("ep-one", client)).toEqual({ kind: "unsupported" });
    },
  );
});

describe("an operation that every list shows in progress", () => {
  const completed = operation({ status: "completed", updated_at: "2026-01-01T00:00:00Z" });

  test("counts as over once it has stood still for a minute and its endpoint is at rest, and is not asked for again", async () => {
    const { clock, state, operations, changes, polls } = following([completed]);
    state.isAtRest = true;
    operations.follow([completed]);
    await clock.advance(59_000);
    expect(operations.followed.isBusyWith("ep-one")).toBe(true);
    await clock.advance(10_000);
    expect([operations.followed.isBusyWith("ep-one"), changes]).toEqual([false, ["ep-one"]]);
    const asked = polls();
    operations.follow([completed]);
    await clock.advance(600_000);
    expect([polls(), clock.pending]).toEqual([asked, 0]);
  });

  test("an operation is followed on while its endpoint shows a change in progress", async () => {
    const { clock, state, operations } = following([completed]);
    operations.follow([completed]);
    await clock.advance(600_000);
    expect(operations.followed.isBusyWith("ep-one")).toBe(true);
    state.isAtRest = true;
    await clock.advance(60_000);
    expect(operations.followed.isBusyWith("ep-one")).toBe(false);
  });

  test.each([
    ["updated_at", (n: number) => ({ updated_at: `2026-01-01T00:${10 + n}:00Z` })],
    ["the number of failures", (n: number) => ({ failures_count: n })],
    ["the status", (n: number) => ({ status: n % 2 === 0 ? "running" : "scheduling" })],
  ])("an operation is followed on while %s changes", async (_, changed) => {
    const { clock, state, operations } = following([completed]);
    state.isAtRest = true;
    operations.follow([completed]);
    for (let minute = 0; minute < 20; minute += 1) {
      state.listed = [{ ...completed, ...changed(minute) }];
      await clock.advance(50_000);
      expect(operations.followed.isBusyWith("ep-one")).toBe(true);
    }
  });
});

describe("a service that refuses the call", () => {
  const refused = () => refusal(404, "project not found");

  test("a service that refuses the call after it had answered it has not lost it: operations are followed on, and of the latest nothing is known", async () => {
    const { clock, service, client, state, operations, changes } = following([operation()]);
    operations.follow([operation()]);
    await clock.advance(firstPollMs);
    const answers = service.script;
    service.script = refused;
    await clock.advance(3000);
    expect(operations.followed.writesRunningAt(clock.monotonic())).toBe(1);
    expect(await operations.latest("ep-one", client)).toMatchObject({ kind: "failed" });
    service.script = answers;
    state.listed = [operation({ status: "failed" })];
    await clock.advance(5000);
    expect(operations.followed.of("ep-one")).toMatchObject([{ status: "failed" }]);
    expect(changes).toEqual(["ep-one"]);
  });

  test("a service that refuses the call is asked again ten minutes later, for the next operation that is followed and none that a status remembers", async () => {
    const { clock, service, state, operations, polls } = following();
    const answers = service.script;
    service.script = refused;
    operations.follow([operation()]);
    await clock.advance(590_000);
    expect(polls()).toBe(1);
    service.script = answers;
    await clock.advance(12_000);
    operations.follow([operation()]);
    expect([operations.followed.writesRunningAt(clock.monotonic()), operations.followed.of("ep-one")]).toEqual([0, []]);
    state.listed = [operation({ id: "op-2", status: "failed" })];
    operations.follow([operation({ id: "op-2" })]);
    await clock.advance(firstPollMs);
    expect(operations.followed.of("ep-one")).toMatchObject([{ id: "op-2", status: "failed" }]);
  });
});

test("the newest thousand of the operations that were given up are remembered, and not all there ever were", async () => {
  const { clock, operations, polls } = following();
  const ids = (from: number, to: number) =>
    Array.from({ length: to - from }, (_, n) => operation({ id: `op-${from + n}` }));
  for (let from = 0; from < 1200; from += 300) {
    operations.follow(ids(from, from + 300));
    await clock.advance(70_000);
  }
  const asked = polls();
  operations.follow(ids(200, 1200));
  await clock.advance(10_000);
  expect(polls()).toBe(asked);
  operations.follow(ids(0, 1));
  await clock.advance(firstPollMs);
  expect(polls()).toBeGreaterThan(asked);
});

test("the latest operations of an endpoint are read again, also those of other writers", async () => {
  const { operations, client } = following([
    operation({ id: "theirs" }),
    operation({ id: "other", endpoint_id: "ep-two" }),
  ]);
  expect(await operations.latest("ep-one", client)).toMatchObject({ kind: "listed", operations: [{ id: "theirs" }] });
});

test("a failed read of the latest operations differs from a service that shows none", async () => {
  const { service, operations, client } = following([]);
  service.script = () => refusal(503, "later");
  expect(await operations.latest("ep-one", client)).toMatchObject({ kind: "failed", failure: { kind: "unavailable" } });
});

test("where the newest operations of a project are all of other endpoints, it is not known what an endpoint's are", async () => {
  const others = (count: number) =>
    Array.from({ length: count }, (_, n) => operation({ id: `op-${n}`, endpoint_id: "ep-two" }));
  const { state, operations, client } = following(others(99));
  expect(await operations.latest("ep-one", client)).toEqual({ kind: "listed", operations: [] });
  state.listed = others(100);
  expect(await operations.latest("ep-one", client)).toEqual({ kind: "unsupported" });
});
