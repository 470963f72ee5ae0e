import { describe, expect, test } from "vitest";
import type { Endpoint } from "../../../src/api/endpoint.ts";
import type { Operation } from "../../../src/api/operation.ts";
import { EndpointLister } from "../../../src/operator/project/endpoint-lister.ts";
import { RequestBudget } from "../../../src/operator/service-client/budget.ts";
import type { Priority } from "../../../src/operator/service-client/priority.ts";
import { endpoint, operation } from "../../support/builders.ts";
import { clientOf, json, refusal, ScriptedService } from "../../support/scripted-service.ts";
import { silentLogger } from "../../support/silent-logger.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";
import { firstPollMs, refreshMs } from "../connection/watching.ts";

/** A budget that notes what each request was for, and whose turn it took. */
class NotingBudget extends RequestBudget {
  readonly asked: Priority[] = [];
  readonly tenants = new Set<string | undefined>();

  override tryTake(priority: Priority, ...rest: [who: unknown, ready: () => void, tenant?: string]): boolean {
    this.asked.push(priority);
    this.tenants.add(rest[2]);
    return super.tryTake(priority, ...rest);
  }
}

function listing(limits = { perMinute: 1_000_000, burst: 1_000_000 }) {
  const clock = new VirtualClock();
  const budget = new NotingBudget(clock, limits);
  const state: { endpoints: Endpoint[]; operations: Operation[]; everyMs: number } = {
    endpoints: [endpoint()],
    operations: [],
    everyMs: refreshMs,
  };
  const service = new ScriptedService(({ path }) =>
    path.endsWith("/operations")
      ? json(200, { operations: state.operations })
      : json(200, { endpoints: state.endpoints }),
  );
  const woken: string[] = [];
  const ended: string[] = [];
  const lister = new EndpointLister({
    log: silentLogger,
    client: clientOf(service, clock, { budget }),
    projectID: "shop",
    clock,
    refreshIntervalMs: () => state.everyMs,
    enqueue: (uids) => woken.push(...uids),
    signal: new AbortController().signal,
    onOperationEnded: ({ id, status }) => ended.push(`${id} ${status}`),
  });
  /** The Computes that were enqueued, once each. */
  const news = () => [...new Set(woken.splice(0))].toSorted();
  const asked = () => budget.asked.splice(0);
  return { clock, budget, state, service, lister, news, asked, ended, lists: () => service.count("/endpoints") };
}

describe("the priority of the requests of a project", () => {
  test("the priority of a project's requests is that of the most urgent Compute that waits, and a refresh once none does", async () => {
    const { clock, lister, asked } = listing();
    lister.use("a", "ep-one");
    lister.listedAfter(0, "a", "resolve");
    await clock.advance(1);
    expect(asked()).toEqual(["resolve"]);
    lister.listedAfter(clock.monotonic(), "a", "follow");
    await clock.advance(1000);
    expect(asked()).toEqual(["follow"]);
    await clock.advance(refreshMs);
    expect(asked()).toEqual(["refresh"]);
    lister.listedAfter(clock.monotonic(), "a", "resolve");
    await clock.advance(1000);
    lister.listedAfter(clock.monotonic(), "a", "follow");
    await clock.advance(1000);
    expect(asked()).toEqual(["resolve", "follow"]);
  });

  test("the priority is not kept for the next list where one fails: each Compute that waits is enqueued, and asks again", async () => {
    const { clock, service, lister, news, asked } = listing();
    lister.use("a", "ep-one");
    await clock.advance(0);
    news();
    asked();
    const { script } = service;
    service.script = () => refusal(500);
    lister.listedAfter(clock.monotonic(), "a", "resolve");
    await clock.advance(1000);
    expect([asked(), news()]).toEqual([["resolve"], ["a"]]);
    service.script = script;
    await clock.advance(1000);
    expect(asked()).toEqual(["refresh"]);
  });

  test("the priority of polls is that of the lists which wait for the operations", async () => {
    const { clock, state, lister, asked } = listing();
    lister.use("a", "ep-one");
    await clock.advance(0);
    state.operations = [operation()];
    lister.operations.follow(state.operations);
    asked();
    await clock.advance(firstPollMs);
    expect(asked()).toEqual(["follow"]);
    lister.listedAfter(clock.monotonic() + 1500, "a", "resolve");
    await clock.advance(1000);
    expect(asked()).toEqual(["resolve"]);
  });
});

describe("a poll of operations", () => {
  test("a poll that shows one operation going on enqueues its Compute, and brings no list", async () => {
    const { clock, state, lister, news, lists } = listing();
    lister.use("a", "ep-one");
    lister.use("b", "ep-two");
    await clock.advance(0);
    news();
    lister.operations.follow([operation({ status: "scheduling" })]);
    state.operations = [operation({ status: "running" })];
    await clock.advance(1200);
    expect([news(), lists()]).toEqual([["a"], 1]);
  });

  test("a poll that shows the end of one brings a list for its Compute, and calls the next write", async () => {
    const { clock, state, lister, news, lists, ended } = listing();
    lister.use("a", "ep-one");
    lister.use("b", "ep-two");
    await clock.advance(1000);
    news();
    expect([lister.writeLimiter.take("a"), lister.writeLimiter.sends("a")]).toEqual([true, true]);
    lister.operations.follow([operation(), operation({ id: "op-2", endpoint_id: "ep-3" })]);
    lister.writeLimiter.accepted("a");
    expect([lister.writeLimiter.take("b"), news()]).toEqual([false, []]);
    state.operations = [operation({ status: "finished" }), operation({ id: "op-2", endpoint_id: "ep-3" })];
    await clock.advance(firstPollMs);
    expect([news(), ended, lists()]).toEqual([["b"], ["op-1 finished"], 1]);
    await clock.advance(1);
    expect([news(), lists()]).toEqual([["a"], 2]);
  });
});

describe("a Compute that leaves its project", () => {
  test("gives back its write and its request, and the last one leaves no timer", async () => {
    const { clock, budget, lister, news } = listing({ perMinute: 60, burst: 2 });
    lister.use("a", "ep-one");
    lister.use("b", "ep-one");
    await clock.advance(0);
    news();
    expect([lister.writeLimiter.take("a"), lister.writeLimiter.take("b")]).toEqual([true, false]);
    expect(lister.reservation("other", "team").tryTake("write")).toBe(true);
    expect(lister.reservation("a", "team").tryTake("write")).toBe(false);
    lister.leave("a");
    expect(news()).toEqual(["b"]);
    await clock.advance(1000);
    expect([budget.available, news()]).toEqual([1, []]);
    lister.leave("b");
    expect(clock.pending).toBe(0);
  });

  test("does not enlarge the window of writes: it grows where the service accepts them", () => {
    const { lister } = listing();
    lister.writeLimiter.take("a");
    lister.writeLimiter.sends("a");
    lister.writeLimiter.accepted("a");
    expect(["a", "b", "c"].map((uid) => lister.writeLimiter.take(uid))).toEqual([true, true, false]);
  });
});

test("a project that is stopped leaves no timer: neither of its lists nor of its polls, its visibility and its writes", async () => {
  const { clock, lister } = listing();
  lister.use("a", "ep-one");
  await clock.advance(0);
  lister.operations.follow([operation()]);
  lister.writeLimiter.take("a");
  lister.writeLimiter.refused("a");
  expect(clock.pending).toBe(4);
  lister.stop();
  expect(clock.pending).toBe(0);
});

describe("a project that is not seen any more", () => {
  test("a project that is not seen is reported three intervals after its first use, though its first list is still on its way", async () => {
    const { clock, service, lister, news } = listing();
    service.script = () => new Promise(() => {});
    lister.use("a", "ep-one");
    await clock.advance(3 * refreshMs);
    expect([lister.unseen?.kind, news()]).toEqual(["unavailable", ["a"]]);
  });

  test("a project that is not seen is reported by a shorter interval as soon as that applies", async () => {
    const { clock, service, state, lister, news } = listing();
    state.everyMs = 3_600_000;
    service.script = () => new Promise(() => {});
    lister.use("a", "ep-one");
    await clock.advance(10_000);
    state.everyMs = 10_000;
    lister.reschedule();
    await clock.advance(20_000);
    expect([lister.unseen?.kind, news()]).toEqual(["unavailable", ["a"]]);
  });

  test("a project that is not seen is not reported with a failure that a good list has followed", async () => {
    const { clock, service, lister } = listing();
    lister.use("a", "ep-one");
    await clock.advance(0);
    const { script } = service;
    service.script = () => refusal(503, "a disk is full");
    await clock.advance(refreshMs);
    service.script = script;
    await clock.advance(refreshMs);
    service.script = () => new Promise(() => {});
    await clock.advance(4 * refreshMs);
    expect(lister.unseen?.message).toBe("the endpoints of the project could not be listed for three refresh intervals");
  });
});

test("those who wait for a list learn of a long pause that holds it up, and of a short one do not", async () => {
  for (const [ms, expected] of [
    [60_000, ["a"]],
    [4000, []],
  ] as const) {
    const { clock, budget, lister, news } = listing({ perMinute: 60, burst: 1 });
    lister.use("a", "ep-one");
    lister.use("b", "ep-one");
    await clock.advance(0);
    news();
    lister.listedAfter(clock.monotonic(), "a");
    await clock.advance(999);
    expect(lister.reservation("other", "team").tryTake("write")).toBe(false);
    await clock.advance(1);
    // The request of this second is set aside for the write.
    expect(news()).toEqual(["other"]);
    budget.closeFor(ms);
    expect(news()).toEqual(expected);
  }
});

test("a list that begins at the moment at which a write ends does not count for it", async () => {
  const { clock, service, lister } = listing();
  let answer = () => {};
  service.script = () =>
    new Promise((resolve) => {
      answer = () => resolve(json(200, { endpoints: [endpoint()] }));
    });
  lister.use("a", "ep-one");
  await clock.advance(0);
  expect([lister.wrote("ep-one"), lister.writtenAt("ep-one")]).toEqual([0, 0]);
  await clock.advance(100);
  answer();
  await clock.settle();
  expect([lister.listing?.startedAt, lister.writtenAt("ep-one")]).toEqual([0, 0]);
  await clock.advance(refreshMs);
  answer();
  await clock.settle();
  expect(lister.writtenAt("ep-one")).toBe(Number.NEGATIVE_INFINITY);
});

test("lists and polls of a project take the turn of the namespace of its first Compute", async () => {
  const { clock, budget, service, state, lister, lists } = listing();
  lister.use("a", "ep-one", undefined, "team-a");
  lister.use("b", "ep-two", undefined, "team-b");
  state.operations = [operation()];
  lister.operations.follow(state.operations);
  await clock.advance(2 * refreshMs);
  expect([lists(), service.count("/operations")].every((count) => count > 1)).toBe(true);
  expect([...budget.tenants]).toEqual(["team-a"]);
});
