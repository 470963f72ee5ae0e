import { describe, expect, test } from "vitest";
import type { Operation } from "../../../src/api/operation.ts";
import { OperationTimes } from "../../../src/operator/project/operation-times.ts";
import { Operations } from "../../../src/operator/project/operations.ts";
import { RequestBudget } from "../../../src/operator/service-client/budget.ts";
import { operation } from "../../support/builders.ts";
import { clientOf, json, refusal, ScriptedService } from "../../support/scripted-service.ts";
import { silentLogger } from "../../support/silent-logger.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";
import { firstPollMs } from "../connection/watching.ts";

const start = { action: "start_compute" };
const move = { action: "move_compute" };

/** Follows operations; those of `start` take 400 ms, those of `move` two seconds, and others an unknown time. */
function polling(options: { perMinute?: number; burst?: number } = {}) {
  const { perMinute = 1_000_000, burst = 1_000_000 } = options;
  const clock = new VirtualClock();
  const stop = new AbortController();
  const state: { listed: Operation[] } = { listed: [] };
  const polledAt: number[] = [];
  const service = new ScriptedService(() => {
    polledAt.push(clock.monotonic());
    return json(200, { operations: state.listed });
  });
  const times = new OperationTimes();
  const from = Date.UTC(2026, 0, 1, 0, 0, 0, 5);
  const at = (ms: number) => ({
    created_at: new Date(from).toISOString(),
    updated_at: new Date(from + ms).toISOString(),
  });
  times.ended(operation({ ...start, status: "finished", ...at(400) }));
  times.ended(operation({ ...move, status: "finished", ...at(2000) }));
  const budget = new RequestBudget(clock, { perMinute, burst });
  const client = clientOf(service, clock, { budget });
  const changes: string[][] = [];
  const endedOperations: string[] = [];
  const operations = new Operations({
    log: silentLogger,
    client,
    priority: () => "follow",
    projectID: "shop",
    clock,
    signal: stop.signal,
    times,
    refreshIntervalMs: () => 30_000,
    isAtRestAfter: () => false,
    onPolled: (endpointIDs) => changes.push([...endpointIDs]),
    onEnded: ({ id, status }) => endedOperations.push(`${id} ${status}`),
  });
  /** Follows these, which lists show too. */
  const follow = (...followed: Operation[]) => {
    state.listed.push(...followed);
    operations.follow(followed);
  };
  return { clock, stop, state, service, budget, client, times, operations, follow, polledAt, changes, endedOperations };
}

/** Polls in 20 seconds after the write: the first after a second, then each after a delay 1.5 times longer. */
const slowing = [1020, 2020, 3520, 5770, 9145, 14_145, 19_145];

describe("polls of operations that take an unknown time", () => {
  test("the polls of an operation that runs for hours become as rare as refreshes, and frequent again with the next write", async () => {
    const { clock, follow, polledAt } = polling();
    follow(operation());
    await clock.advance(600_000);
    polledAt.length = 0;
    await clock.advance(3_600_000);
    expect(polledAt.length).toBe(120);
    follow(operation({ id: "op-2" }));
    const next = clock.monotonic();
    await clock.advance(20_000);
    expect(polledAt.slice(120).map((at) => at - next)).toEqual(slowing);
  });

  test("begin a second after the write, and then more and more slowly, until another write", async () => {
    const { clock, follow, polledAt } = polling();
    follow(operation());
    await clock.advance(20_000);
    expect(polledAt.splice(0)).toEqual(slowing);
    follow(operation({ id: "op-2" }));
    await clock.advance(4000);
    expect(polledAt).toEqual(slowing.slice(0, 3).map((at) => 20_000 + at));
  });

  test("polls are neither hastened nor put off by ended operations that reconciles report again", async () => {
    const { clock, operations, follow, polledAt } = polling();
    follow(operation());
    for (let n = 0; n < 200; n += 1) {
      await clock.advance(100);
      operations.follow([operation({ id: `over-${n}`, status: "finished" })]);
    }
    expect(polledAt).toEqual(slowing);
  });

  test("wait for each other: one poll shows the operations of several writes, and at most one begins a second", async () => {
    const { clock, follow, polledAt } = polling();
    follow(operation());
    await clock.advance(100);
    follow(operation({ id: "op-2" }));
    await clock.advance(firstPollMs);
    expect(polledAt).toEqual([100 + firstPollMs]);
    follow(operation({ id: "op-3", ...start }));
    await clock.advance(1000);
    expect(polledAt).toEqual([100 + firstPollMs, 1100 + firstPollMs]);
  });

  test("never overlap, however long one takes", async () => {
    const { clock, service, follow, polledAt } = polling();
    const { script } = service;
    service.script = (request) =>
      new Promise((resolve) => {
        const answer = script(request);
        clock.after(5000, () => resolve(answer));
      });
    follow(operation());
    await clock.advance(firstPollMs + 100);
    follow(operation({ id: "op-2" }));
    await clock.advance(4800);
    expect(polledAt).toEqual([firstPollMs]);
    await clock.advance(200);
    expect(polledAt).toEqual([firstPollMs, firstPollMs + 5000]);
  });

  test.each([
    [20, "100"],
    [80, "160"],
    [600, "1000"],
  ])("the polls of %i operations ask for %s", async (count, limit) => {
    const { clock, service, follow } = polling();
    follow(...Array.from({ length: count }, (_, n) => operation({ id: `op-${n}`, endpoint_id: `ep-${n}` })));
    await clock.advance(firstPollMs);
    expect(service.requests.map(({ query }) => query?.["limit"])).toEqual([limit]);
  });
});

describe("polls of operations that are expected to end", () => {
  test("begin just after the expected end, and a late operation counts as running on", async () => {
    const { clock, operations, follow, polledAt } = polling();
    follow(operation({ id: "late", endpoint_id: "ep-late", ...start }));
    await clock.advance(419);
    expect([polledAt, operations.followed.writesRunningAt(clock.monotonic())]).toEqual([[], 0]);
    await clock.advance(1);
    expect([polledAt, operations.followed.writesRunningAt(clock.monotonic())]).toEqual([[420], 1]);
  });

  test("serve several that end at about the same time, and the next one waits for those that end later", async () => {
    const { clock, operations, follow, polledAt } = polling();
    follow(
      operation({ id: "late", endpoint_id: "ep-late", ...start }),
      operation({ id: "moves", endpoint_id: "ep-moves", ...move }),
    );
    await clock.advance(730);
    const running = (at: number) => operations.followed.writesRunningAt(at);
    expect([polledAt, running(730), running(2100)]).toEqual([[720], 2, 1]);
    await clock.advance(1270);
    expect(polledAt).toEqual([720]);
    await clock.advance(20);
    expect([polledAt, running(2100)]).toEqual([[720, 2020], 2]);
  });

  test("the polls of many writes that follow each other begin when no more come, or after a few seconds", async () => {
    const { clock, follow, polledAt } = polling();
    const writes = async (count: number) => {
      for (let n = 0; n < count; n += 1) {
        const id = `${polledAt.length}-${n}`;
        follow(operation({ id, endpoint_id: `ep-${id}`, ...start }));
        await clock.advance(100);
      }
    };
    await writes(10);
    await clock.advance(819);
    expect(polledAt).toEqual([]);
    await clock.advance(1);
    expect(polledAt).toEqual([1820]);
    await writes(60);
    expect(polledAt).toEqual([1820, 1820 + 420 + 4500]);
  });

  test("say when the result of a write is expected to be seen, where that is known", async () => {
    const { clock, operations, follow } = polling();
    follow(operation({ endpoint_id: "ep-one", ...start }));
    expect(operations.showsResultAt("ep-one")).toBe(420 + 2000);
    follow(operation({ id: "op-2", endpoint_id: "ep-two" }));
    expect([operations.showsResultAt("ep-two"), operations.showsResultAt("ep-none")]).toEqual([undefined, undefined]);
    await clock.advance(720);
    expect(operations.showsResultAt("ep-one")).toBeUndefined();
  });

  test("wait for the expected end of an operation that the list does not show yet", async () => {
    const { clock, state, follow, polledAt } = polling();
    follow(operation({ id: "late", ...start }), operation({ id: "moves", endpoint_id: "ep-moves", ...move }));
    state.listed = [];
    await clock.advance(2020);
    expect(polledAt).toEqual([720, 2020]);
  });

  test("report those that have ended, and learn how long they took", async () => {
    const { clock, state, times, follow, changes, endedOperations } = polling();
    follow(operation({ endpoint_id: "ep-one", ...start }), operation({ id: "op-2", endpoint_id: "ep-two", ...move }));
    const ended = { created_at: "2026-01-01T00:00:00.001Z", updated_at: "2026-01-01T00:00:01.001Z" };
    state.listed = [
      operation({ ...start, ...ended, status: "finished" }),
      operation({ id: "op-2", endpoint_id: "ep-two", ...move }),
    ];
    await clock.advance(720);
    expect([changes, endedOperations]).toEqual([[["ep-one"]], ["op-1 finished"]]);
    expect(times.expectedOf("start_compute")).toBeGreaterThan(400);
  });

  test("read only the operations that are followed, whatever else a busy project lists", async () => {
    const { clock, service, follow, endedOperations } = polling();
    follow(operation());
    const others = Array.from({ length: 99 }, (_, n) => ({ id: `other-${n}`, action: n }));
    service.script = () => json(200, { operations: [...others, operation({ status: "finished" })] });
    await clock.advance(firstPollMs);
    expect(endedOperations).toEqual(["op-1 finished"]);
  });

  test("keep what a list leaves out of an operation", async () => {
    const { clock, state, operations, follow } = polling();
    follow(operation());
    const { endpoint_id: _, ...bare } = operation();
    state.listed = [bare];
    await clock.advance(firstPollMs);
    expect([operations.followed.isBusyWith("ep-one"), operations.followed.of("ep-one").length]).toEqual([true, 1]);
  });
});

test("polls stay one a time after the budget called before one that was planned since", async () => {
  const { clock, budget, follow, polledAt } = polling();
  follow(operation());
  await clock.advance(1500);
  budget.closeFor(2000);
  await clock.advance(1000);
  follow(operation({ id: "op-2" }));
  await clock.advance(17_500);
  expect(polledAt).toEqual([1020, 3500, 4500, 6000, 8250, 11_625, 16_625]);
});

describe("polls that are stopped", () => {
  test("leave no timer and no place in the request budget", async () => {
    const { clock, budget, operations, follow, polledAt } = polling({ perMinute: 60, burst: 1 });
    follow(operation());
    operations.stop();
    expect(clock.pending).toBe(0);
    const waiting = polling({ perMinute: 30, burst: 1 });
    expect(waiting.budget.takeSpare()).toBe(true);
    waiting.follow(operation());
    await waiting.clock.advance(firstPollMs);
    waiting.operations.stop();
    await waiting.clock.advance(1000);
    expect([waiting.polledAt, waiting.budget.available, waiting.clock.pending]).toEqual([[], 1, 0]);
    await clock.advance(1000);
    expect([polledAt, budget.available]).toEqual([[], 1]);
  });

  test.each(["stopped", "aborted"])("while one is on its way (%s) plan no other", async (how) => {
    const { clock, service, stop, operations, follow } = polling();
    let answer = () => {};
    service.script = () =>
      new Promise((resolve) => {
        answer = () => resolve(json(200, { operations: [operation()] }));
      });
    follow(operation());
    await clock.advance(firstPollMs);
    if (how === "stopped") operations.stop();
    else stop.abort();
    answer();
    await clock.settle();
    expect([operations.followed.inProgress.size, clock.pending]).toEqual([1, 0]);
  });
});

describe("a service that refuses the call", () => {
  test("a service that refuses the call is asked once, and the waiting Computes are enqueued once", async () => {
    const { clock, service, client, operations, follow, changes } = polling();
    service.script = () => refusal(404, "this route does not exist");
    follow(operation());
    await clock.advance(firstPollMs);
    expect(changes).toEqual([[]]);
    expect(await operations.latest("ep-one", client)).toEqual({ kind: "unsupported" });
    expect(service.requests).toHaveLength(1);
  });

  test("after a read of the latest operations has the call: its operations are followed on", async () => {
    const { clock, service, client, operations, follow } = polling();
    expect((await operations.latest("ep-one", client)).kind).toBe("listed");
    service.script = () => refusal(404, "this route does not exist");
    follow(operation());
    await clock.advance(firstPollMs);
    expect(operations.followed.isBusyWith("ep-one")).toBe(true);
  });
});
