import { describe, expect, test } from "vitest";
import { type Listed, Lister } from "../../../src/operator/project/lister.ts";
import type { Answer } from "../../../src/operator/service-client/answer.ts";
import { RequestBudget } from "../../../src/operator/service-client/budget.ts";
import { clientOf, ScriptedService } from "../../support/scripted-service.ts";
import { silentLogger } from "../../support/silent-logger.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";

const refreshMs = 30_000;
const unavailable = { kind: "unavailable", message: "no answer" } as const;

/**
 * A lister whose request budget has room for one request a second, used by `one` and `two`. `begun`: when lists began.
 * `affected`: whom the next list affects.
 */
function setUp(limits = { perMinute: 60, burst: 1 }) {
  const clock = new VirtualClock();
  const stop = new AbortController();
  const budget = new RequestBudget(clock, limits);
  const state = { isUsed: true, intervalMs: refreshMs, affected: [] as string[], isBroken: false };
  const begun: number[] = [];
  const events: string[] = [];
  const woken: string[][] = [];
  let end: (answer: Answer<Listed>) => void = () => {};
  const lister: Lister<Listed> = new Lister<Listed>({
    client: clientOf(new ScriptedService(), clock, { budget }),
    log: silentLogger,
    clock,
    signal: stop.signal,
    refreshIntervalMs: () => state.intervalMs,
    refreshes: {
      inForceMs: refreshMs,
      due: () => events.push("due"),
      begun: () => events.push("begun"),
      leave: () => events.push("leave"),
    },
    tenant: () => "",
    isUsed: () => state.isUsed,
    users: () => ["one", "two"],
    list: (_, startedAt) => {
      begun.push(startedAt);
      const answer = Promise.withResolvers<Answer<Listed>>();
      end = answer.resolve;
      return answer.promise;
    },
    onListed: () => {
      if (state.isBroken) throw new TypeError("a defect of the operator");
      return state.affected;
    },
    enqueue: (uids) => woken.push([...uids].toSorted()),
    unseen: "not listed for long",
  });
  const answered = async (answer: Answer<Listed>) => {
    end(answer);
    await clock.settle();
  };
  const listed = () => answered({ kind: "ok", status: 200, value: { startedAt: begun.at(-1) ?? 0 } });
  const failed = () => answered(unavailable);
  return {
    clock,
    stop,
    budget,
    state,
    begun,
    events,
    lister,
    listed,
    failed,
    /** Spends the request that is there. */
    spend: () => expect(budget.takeSpare()).toBe(true),
    news: () => woken.splice(0),
  };
}

describe("a list that is due", () => {
  test("begins at once where the budget has room, and the next one an interval later", async () => {
    const { clock, begun, events, lister, listed } = setUp();
    lister.start();
    await clock.advance(0);
    expect([begun, events]).toEqual([[0], ["begun"]]);
    await listed();
    await clock.advance(refreshMs);
    expect(begun).toEqual([0, refreshMs]);
  });

  test("waits for the budget once, however often the project is used, and begins when it is called", async () => {
    const { clock, begun, events, lister, spend } = setUp();
    spend();
    lister.start();
    await clock.advance(0);
    for (let n = 0; n < 3; n += 1) {
      lister.start();
      await clock.advance(10);
    }
    expect([begun, events]).toEqual([[], ["due"]]);
    await clock.advance(1000);
    expect([begun, events]).toEqual([[1000], ["due", "begun"]]);
  });

  test("does not begin while one is in flight: the wanted one follows its end", async () => {
    const { clock, begun, lister, listed } = setUp();
    lister.start();
    await clock.advance(0);
    lister.want(500, "resolve");
    await clock.advance(5000);
    expect([begun, lister.need]).toEqual([[0], "resolve"]);
    await listed();
    await clock.advance(0);
    expect([begun, lister.need]).toEqual([[0, 5000], "refresh"]);
  });
});

describe("who is enqueued", () => {
  test("all users are by the first list, later those whom a list affects and those who wait, each once", async () => {
    const { clock, state, lister, listed, news } = setUp();
    lister.start();
    await clock.advance(0);
    lister.wait("two");
    await listed();
    expect([news(), lister.waits("two")]).toEqual([[["one", "two"]], false]);
    await clock.advance(refreshMs);
    await listed();
    expect(news()).toEqual([[]]);
    state.affected = ["one"];
    for (const uid of ["one", "two", "gone"]) lister.wait(uid);
    lister.leave("gone");
    await clock.advance(refreshMs);
    await listed();
    expect(news()).toEqual([["one", "two"]]);
  });

  test("a failed list enqueues those who wait, and a defect all users", async () => {
    const { clock, state, lister, listed, failed, news } = setUp();
    lister.start();
    await clock.advance(0);
    await listed();
    news();
    lister.wait("two");
    await clock.advance(refreshMs);
    await failed();
    expect(news()).toEqual([["two"]]);
    state.isBroken = true;
    await clock.advance(1000);
    await listed();
    expect([news(), lister.failure?.message.includes("see the log")]).toEqual([[["one", "two"]], true]);
  });

  test("those who wait are told of a long pause that holds the list up", async () => {
    const { clock, budget, lister, listed, spend, news } = setUp();
    lister.start();
    await clock.advance(0);
    await listed();
    news();
    await clock.advance(5000);
    spend();
    lister.wait("two");
    lister.want(clock.monotonic() - 1, "follow");
    await clock.advance(0);
    budget.closeFor(60_000);
    expect([news().flat(), lister.waits("two")]).toEqual([["two"], true]);
  });
});

describe("a list that counts", () => {
  test("counts for those who need one that began after an earlier time", async () => {
    const { clock, lister, listed } = setUp();
    await clock.advance(100);
    lister.start();
    await clock.advance(0);
    expect(lister.after(0)).toBeUndefined();
    await listed();
    expect([lister.after(99)?.startedAt, lister.after(100)]).toEqual([100, undefined]);
  });

  test("counts through a single failure, and from the second on the failure does", async () => {
    const { clock, lister, listed, failed } = setUp();
    lister.start();
    await clock.advance(0);
    await listed();
    await clock.advance(refreshMs);
    await failed();
    expect([lister.failure, lister.after(-1)?.startedAt]).toEqual([undefined, 0]);
    await clock.advance(1000);
    await failed();
    expect([lister.failure?.kind, lister.after(-1), lister.latest?.startedAt]).toEqual(["unavailable", undefined, 0]);
    await clock.advance(2000);
    await listed();
    expect([lister.failure, lister.after(-1)?.startedAt]).toEqual([undefined, 33_000]);
  });

  test("a first list that fails is a failure at once", async () => {
    const { clock, lister, failed } = setUp();
    lister.start();
    await clock.advance(0);
    await failed();
    expect(lister.failure?.kind).toBe("unavailable");
  });

  test("counts no more after three intervals: all users are enqueued once, and again by the next list", async () => {
    const { clock, lister, listed, news } = setUp();
    lister.start();
    await clock.advance(3 * refreshMs - 1);
    expect([lister.unseen, news()]).toEqual([undefined, []]);
    await clock.advance(100_000);
    expect([lister.unseen?.message, news(), clock.pending]).toEqual(["not listed for long", [["one", "two"]], 0]);
    await listed();
    expect([lister.unseen, news()]).toEqual([undefined, [["one", "two"]]]);
    lister.stop();
  });

  test("the loss is not reported before its time where the interval has become longer since", async () => {
    const clock = new VirtualClock();
    const state = { intervalMs: 10_000 };
    const lostAt: number[] = [];
    const lister = new Lister<Listed>({
      client: clientOf(new ScriptedService(), clock),
      log: silentLogger,
      clock,
      signal: new AbortController().signal,
      refreshIntervalMs: () => state.intervalMs,
      tenant: () => "",
      isUsed: () => true,
      users: () => [],
      list: () => new Promise(() => {}),
      onListed: () => [],
      enqueue: () => lostAt.push(clock.monotonic()),
      unseen: "not listed for long",
    });
    lister.start();
    state.intervalMs = 20_000;
    await clock.advance(100_000);
    expect(lostAt).toEqual([60_000]);
  });
});

describe("a project that is not used any more", () => {
  test("an unused project is not listed, and gives back its place in the budget, until it is used again", async () => {
    const { clock, budget, state, begun, events, lister, spend } = setUp();
    spend();
    lister.start();
    await clock.advance(0);
    state.isUsed = false;
    lister.leave("one");
    expect([events, clock.pending]).toEqual([["due", "leave"], 0]);
    await clock.advance(2000);
    expect([begun, budget.available]).toEqual([[], 1]);
    state.isUsed = true;
    lister.start();
    await clock.advance(0);
    expect(begun).toEqual([2000]);
  });

  test("an unused project is not listed where its timer fires all the same", async () => {
    const { clock, state, begun, lister, listed } = setUp();
    lister.start();
    await clock.advance(0);
    await listed();
    state.isUsed = false;
    await clock.advance(2 * refreshMs);
    expect(begun).toEqual([0]);
    state.isUsed = true;
    lister.start();
    await clock.advance(0);
    expect(begun).toEqual([0, 2 * refreshMs]);
  });

  test("the loss of a project that was not used for a while is reported to those who use it again", async () => {
    const { clock, state, lister, news } = setUp();
    lister.start();
    state.isUsed = false;
    lister.reschedule();
    expect(clock.pending).toBe(0);
    state.isUsed = true;
    lister.start();
    await clock.advance(100_000);
    expect(news()).toEqual([["one", "two"]]);
  });

  test("gives back the request that it is called for", async () => {
    const { clock, budget, state, begun, events, lister, spend } = setUp();
    spend();
    lister.start();
    await clock.advance(0);
    state.isUsed = false;
    await clock.advance(1000);
    expect([begun, events, budget.available]).toEqual([[], ["due", "leave"], 1]);
  });
});

describe("a lister that is stopped", () => {
  test("lists no more, and leaves neither a timer nor a place in the budget", async () => {
    const { clock, budget, begun, events, lister, listed, spend } = setUp();
    lister.start();
    await clock.advance(0);
    await listed();
    lister.stop();
    expect(clock.pending).toBe(0);
    await clock.advance(refreshMs - 100);
    spend();
    lister.reschedule();
    await clock.advance(100);
    lister.stop();
    await clock.advance(2000);
    expect([begun, events.at(-1), budget.available, clock.pending]).toEqual([[0], "leave", 1, 0]);
  });

  test("plans no list once the operator stops", async () => {
    const { clock, stop, begun, lister } = setUp();
    stop.abort();
    lister.start();
    await clock.advance(refreshMs);
    expect([begun, clock.pending]).toEqual([[], 0]);
  });
});
