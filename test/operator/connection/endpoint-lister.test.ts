import { describe, expect, test } from "vitest";
import type { Endpoint } from "../../../src/api/endpoint.ts";
import { EndpointLister } from "../../../src/operator/connection/endpoint-lister.ts";
import { endpoint } from "../../support/builders.ts";
import { clientOf, json, refusal, ScriptedService } from "../../support/scripted-service.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";

const refreshMs = 30_000;

function watching(endpoints: Endpoint[] = [], everyMs = refreshMs) {
  const clock = new VirtualClock();
  const stop = new AbortController();
  const service = new ScriptedService(() => json(200, { endpoints }));
  const woken: string[] = [];
  const watcher = new EndpointLister({
    client: clientOf(service, clock),
    projectID: "shop",
    clock,
    refreshIntervalMs: () => everyMs,
    enqueue: (uids) => woken.push(...uids),
    signal: stop.signal,
  });
  const lists = () => service.count("/endpoints");
  const news = () => woken.splice(0).toSorted();
  return { clock, stop, service, watcher, lists, news };
}

const gone = () => refusal(404, "project not found");

describe("a project that is used", () => {
  test("is listed once per refresh, whatever the number of its Computes, and then nobody is woken", async () => {
    const { clock, watcher, lists, news } = watching([endpoint()]);
    for (let n = 0; n < 100; n += 1) watcher.use(`uid-${n}`, "ep-one");
    await clock.advance(0);
    expect(lists()).toBe(1);
    expect(news()).toHaveLength(100);
    await clock.advance(10 * refreshMs);
    expect(lists()).toBe(11);
    expect(news()).toEqual([]);
  });

  test("is listed no more when the last Compute leaves it, and leaves no timer behind", async () => {
    const { clock, watcher, lists } = watching();
    watcher.use("a", undefined);
    await clock.advance(0);
    watcher.leave("a");
    await clock.advance(10 * refreshMs);
    expect([lists(), clock.pending]).toEqual([1, 0]);
  });

  test("is listed no more when the operator stops", async () => {
    const { clock, watcher, stop, lists } = watching();
    watcher.use("a", undefined);
    await clock.advance(0);
    stop.abort();
    watcher.stop();
    await clock.advance(10 * refreshMs);
    expect([lists(), clock.pending]).toEqual([1, 0]);
  });
});

describe("a list that must be newer than a write", () => {
  test("counts only if it was begun after, and the Compute is woken when there is one", async () => {
    const { clock, watcher, lists, news } = watching();
    watcher.use("a", undefined);
    await clock.advance(1000);
    news();
    expect(watcher.listedAfter(500, "a")).toBeUndefined();
    await clock.advance(0);
    expect(lists()).toBe(2);
    expect(news()).toEqual(["a"]);
    expect(watcher.listedAfter(500, "a")).toMatchObject({ startedAt: 1000 });
    expect(watcher.listedAfter(1000, "a")).toBeUndefined();
  });

  test("is not the one in flight: that was begun before", async () => {
    const { clock, service, watcher, lists, news } = watching();
    let answer = () => {};
    service.script = () =>
      new Promise((resolve) => {
        answer = () => resolve(json(200, { endpoints: [] }));
      });
    watcher.use("a", undefined);
    await clock.advance(100);
    expect(watcher.listedAfter(50, "a")).toBeUndefined();
    answer();
    await clock.advance(0);
    expect(watcher.listedAfter(50, "a")).toBeUndefined();
    await clock.advance(1);
    answer();
    await clock.advance(0);
    expect(lists()).toBe(2);
    expect(watcher.listedAfter(50, "a")).toBeDefined();
    expect(news()).toContain("a");
  });

  test("is shared by all who ask at one time, and a storm is paced", async () => {
    const { clock, watcher, lists } = watching();
    for (let n = 0; n < 50; n += 1) watcher.use(`uid-${n}`, undefined);
    await clock.advance(1000);
    for (let n = 0; n < 50; n += 1) watcher.listedAfter(1000, `uid-${n}`);
    await clock.advance(10);
    expect(lists()).toBe(2);
    for (let second = 0; second < 600; second += 1) {
      for (let n = 0; n < 5; n += 1) watcher.listedAfter(clock.monotonic(), `uid-${n}`);
      await clock.advance(100);
    }
    expect(lists()).toBeLessThanOrEqual(2 + 4 + 60);
  });
});

describe("what a list shows wakes", () => {
  const other = endpoint({ id: "ep-two", type: "read_only" });

  test.each<[string, Endpoint[], string[]]>([
    ["nobody where all is as it was", [endpoint(), other], []],
    ["who is linked to what changed", [endpoint({ current_state: "idle" }), other], ["a"]],
    ["everybody where one is new", [endpoint(), other, endpoint({ id: "ep-3", branch_id: "br-3" })], ["a", "b", "c"]],
    ["everybody where one is gone", [endpoint()], ["a", "b", "c"]],
    ["everybody where one moved", [endpoint({ branch_id: "br-9" }), other], ["a", "b", "c"]],
    ["everybody where one was renamed", [endpoint({ name: "k8s-1" }), other], ["a", "b", "c"]],
  ])("%s", async (_, after, expected) => {
    const { clock, service, watcher, news } = watching([endpoint(), other]);
    watcher.use("a", "ep-one");
    watcher.use("b", "ep-two");
    watcher.use("c", undefined);
    await clock.advance(0);
    news();
    service.script = () => json(200, { endpoints: after });
    await clock.advance(refreshMs);
    expect(news()).toEqual(expected);
  });
});

describe("a list that fails", () => {
  test("after a good one changes nothing: for three refresh intervals what that showed counts", async () => {
    const { clock, service, watcher, news } = watching([endpoint()]);
    watcher.use("a", "ep-one");
    await clock.advance(0);
    news();
    service.script = () => refusal(500);
    await clock.advance(3 * refreshMs - 1);
    expect([watcher.unseen, news()]).toEqual([undefined, []]);
    await clock.advance(1);
    expect([watcher.unseen?.kind, news()]).toEqual(["unavailable", ["a"]]);
    await clock.advance(3 * refreshMs);
    expect(news()).toEqual([]);
    service.script = () => json(200, { endpoints: [endpoint()] });
    await clock.advance(refreshMs);
    expect([watcher.unseen, watcher.failure, news()]).toEqual([undefined, undefined, ["a"]]);
    service.script = () => refusal(500);
    await clock.advance(3 * refreshMs);
    expect(news()).toEqual(["a"]);
  });

  test("is told by a failure the second time, for who has nothing to keep, and lets nobody plan on the old list", async () => {
    const { clock, service, watcher } = watching([endpoint()]);
    watcher.use("a", "ep-one");
    await clock.advance(0);
    service.script = () => refusal(500);
    await clock.advance(refreshMs);
    expect([watcher.failure, watcher.listedAfter(-1, "a")?.endpoints.length]).toEqual([undefined, 1]);
    await clock.advance(1000);
    expect([watcher.failure?.kind, watcher.listedAfter(-1, "a")]).toEqual(["unavailable", undefined]);
  });

  test("is seen no more three intervals after the last list also where none has failed: it waits for an answer", async () => {
    const { clock, service, watcher, news } = watching([endpoint()]);
    watcher.use("a", "ep-one");
    await clock.advance(0);
    news();
    service.script = () => new Promise(() => {});
    await clock.advance(3 * refreshMs);
    expect([watcher.unseen?.kind, news()]).toEqual(["unavailable", ["a"]]);
  });

  test("is seen no more three intervals after the first try where there never was a list", async () => {
    const { clock, service, watcher } = watching();
    service.script = () => refusal(500);
    watcher.use("a", undefined);
    await clock.advance(0);
    expect([watcher.failure?.kind, watcher.unseen]).toEqual(["unavailable", undefined]);
    await clock.advance(3 * refreshMs);
    expect(watcher.unseen?.kind).toBe("unavailable");
  });

  test.each([
    ["project not found", gone()],
    ["a key without the right", refusal(403, "no")],
  ])("by a refusal (%s) counts once another says the same five seconds later", async (_, answer) => {
    const { clock, service, watcher, news } = watching([endpoint()]);
    watcher.use("a", "ep-one");
    await clock.advance(0);
    news();
    service.script = () => answer;
    await clock.advance(refreshMs + 3000);
    expect([watcher.unseen, news()]).toEqual([undefined, []]);
    await clock.advance(4000);
    expect([watcher.unseen?.kind === undefined, news()]).toEqual([false, ["a"]]);
  });

  test("is told after three minutes however seldom the project is listed", async () => {
    const { clock, service, watcher, news } = watching([endpoint()], 24 * 3_600_000);
    watcher.use("a", "ep-one");
    await clock.advance(0);
    news();
    service.script = () => refusal(500);
    watcher.listedAfter(clock.monotonic(), "nobody");
    await clock.advance(182_000);
    expect([watcher.unseen?.kind, news().includes("a")]).toEqual(["unavailable", true]);
  });

  test("is tried again ever later, up to the refresh interval, and never in a hot loop", async () => {
    const { clock, service, watcher, lists } = watching();
    service.script = gone;
    watcher.use("a", undefined);
    const at = [];
    for (let before = 0; clock.monotonic() < 120_000; await clock.advance(500)) {
      if (lists() > before) at.push(clock.monotonic() / 1000);
      before = lists();
      watcher.listedAfter(clock.monotonic(), "a");
    }
    expect(at).toEqual([0.5, 1, 3, 7, 15, 31, 61, 91]);
  });

  test("is tried again within a minute however seldom the project is listed, so that an outage ends when it is over", async () => {
    const hour = 3_600_000;
    const { clock, service, watcher } = watching([], 24 * hour);
    service.script = () => refusal(503);
    watcher.use("a", undefined);
    await clock.advance(3 * hour);
    expect(watcher.failure?.kind).toBe("unavailable");
    service.script = () => json(200, { endpoints: [] });
    await clock.advance(60_000);
    expect(watcher.failure).toBeUndefined();
  });

  test.each([
    ["without the array", json(200, {})],
    [
      "with an item without id",
      json(200, { endpoints: [{ project_id: "shop", branch_id: "br", type: "read_write", current_state: "active" }] }),
    ],
    ["cut off", { status: 200, body: undefined, json: false }],
    ["of another kind", json(200, [])],
  ])("also by an answer %s: it is half a list, and nothing is concluded", async (_, answer) => {
    const { clock, service, watcher } = watching([endpoint()]);
    watcher.use("a", undefined);
    await clock.advance(0);
    service.script = () => answer;
    await clock.advance(refreshMs);
    expect(watcher.listing?.endpoints).toHaveLength(1);
    await clock.advance(1000);
    expect(watcher.failure?.kind).toBe("unavailable");
  });
});
