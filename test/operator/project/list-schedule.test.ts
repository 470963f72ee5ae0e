import { describe, expect, test } from "vitest";
import { ListSchedule } from "../../../src/operator/project/list-schedule.ts";
import { RequestBudget } from "../../../src/operator/service-client/budget.ts";
import { clientOf, ScriptedService } from "../../support/scripted-service.ts";
import { silentLogger } from "../../support/silent-logger.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";

const refreshMs = 30_000;

/** A schedule whose request budget has room for one request a second; `lists`: when lists began. */
function scheduling() {
  const clock = new VirtualClock();
  const stop = new AbortController();
  const budget = new RequestBudget(clock, { perMinute: 60, burst: 1 });
  const state = { isUsed: true };
  const lists: number[] = [];
  const events: string[] = [];
  let end = () => {};
  const schedule: ListSchedule = new ListSchedule({
    client: clientOf(new ScriptedService(), clock, { budget }),
    log: silentLogger,
    clock,
    signal: stop.signal,
    refreshIntervalMs: () => refreshMs,
    refreshes: {
      due: () => events.push("due"),
      begun: () => events.push("begun"),
      leave: () => events.push("leave"),
    },
    lostAt: () => Number.POSITIVE_INFINITY,
    isUsed: () => state.isUsed,
    tenant: () => "",
    list: (_, startedAt) => {
      lists.push(startedAt);
      const ends = Promise.withResolvers<void>();
      end = ends.resolve;
      return ends.promise;
    },
    onDefect: () => events.push("defect"),
    onCalled: () => events.push("called"),
  });
  /** Spends the request that is there. */
  const spend = () => expect(budget.takeSpare()).toBe(true);
  const ended = async () => {
    schedule.demand.ended(true);
    end();
    await clock.settle();
  };
  return { clock, stop, budget, state, lists, events, schedule, spend, ended };
}

describe("a list that is due", () => {
  test("begins at once where the budget has room, and the next one an interval later", async () => {
    const { clock, lists, events, schedule, ended } = scheduling();
    schedule.start();
    await clock.advance(0);
    expect([lists, events]).toEqual([[0], ["begun"]]);
    await ended();
    await clock.advance(refreshMs);
    expect(lists).toEqual([0, refreshMs]);
  });

  test("waits for the budget once, however often the project is used, and begins when it is called", async () => {
    const { clock, lists, events, schedule, spend } = scheduling();
    spend();
    schedule.start();
    await clock.advance(0);
    for (let n = 0; n < 3; n += 1) {
      schedule.start();
      await clock.advance(10);
    }
    expect([lists, events]).toEqual([[], ["due"]]);
    await clock.advance(1000);
    expect([lists, events]).toEqual([[1000], ["due", "begun", "called"]]);
  });

  test("does not begin while one is in flight: the wanted one follows its end", async () => {
    const { clock, lists, schedule, ended } = scheduling();
    schedule.start();
    await clock.advance(0);
    schedule.want(500, "resolve");
    await clock.advance(5000);
    expect([lists, schedule.demand.need]).toEqual([[0], "resolve"]);
    await ended();
    await clock.advance(0);
    expect(lists).toEqual([0, 5000]);
    schedule.demand.met();
    expect(schedule.demand.need).toBe("refresh");
  });
});

describe("a project that is not used any more", () => {
  test("an unused project is not listed, and gives back its place in the budget, until it is used again", async () => {
    const { clock, budget, state, lists, events, schedule, spend } = scheduling();
    spend();
    schedule.start();
    await clock.advance(0);
    state.isUsed = false;
    schedule.plan();
    expect([events, clock.pending]).toEqual([["due", "leave"], 0]);
    await clock.advance(2000);
    expect([lists, budget.available]).toEqual([[], 1]);
    state.isUsed = true;
    schedule.start();
    await clock.advance(0);
    expect(lists).toEqual([2000]);
  });

  test("an unused project is not listed where its timer fires all the same", async () => {
    const { clock, state, lists, schedule, ended } = scheduling();
    schedule.start();
    await clock.advance(0);
    await ended();
    state.isUsed = false;
    await clock.advance(2 * refreshMs);
    expect([lists, clock.pending]).toEqual([[0], 0]);
    state.isUsed = true;
    schedule.start();
    await clock.advance(0);
    expect(lists).toEqual([0, 2 * refreshMs]);
  });

  test("gives back the request that it is called for", async () => {
    const { clock, budget, state, lists, events, schedule, spend } = scheduling();
    spend();
    schedule.start();
    await clock.advance(0);
    state.isUsed = false;
    await clock.advance(1000);
    expect([lists, events, budget.available]).toEqual([[], ["due", "leave", "called"], 1]);
  });
});

describe("a schedule that is stopped", () => {
  test("lists no more, and leaves neither a timer nor a place in the budget", async () => {
    const { clock, budget, lists, events, schedule, ended, spend } = scheduling();
    schedule.start();
    await clock.advance(0);
    await ended();
    schedule.stop();
    expect(clock.pending).toBe(0);
    schedule.start();
    await clock.advance(refreshMs - 100);
    spend();
    schedule.plan();
    await clock.advance(100);
    schedule.stop();
    await clock.advance(2000);
    expect([lists, events.at(-1), budget.available, clock.pending]).toEqual([[0], "leave", 1, 0]);
  });

  test("plans no list once the operator stops", async () => {
    const { clock, stop, lists, schedule } = scheduling();
    stop.abort();
    schedule.start();
    await clock.advance(refreshMs);
    expect([lists, clock.pending]).toEqual([[], 0]);
  });
});
