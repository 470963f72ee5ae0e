import { describe, expect, test } from "vitest";
import { endpoint } from "../../support/builders.ts";
import { json, refusal } from "../../support/scripted-service.ts";
import { refreshMs, watching } from "../connection/watching.ts";

const gone = () => refusal(404, "project not found");

describe("a project that is used", () => {
  test("a project is listed once per refresh, whatever its number of Computes, and enqueues none without a change", async () => {
    const { clock, lister, lists, news } = watching([endpoint()]);
    for (let n = 0; n < 100; n += 1) lister.use(`uid-${n}`, "ep-one");
    await clock.advance(0);
    expect(lists()).toBe(1);
    expect(news()).toHaveLength(100);
    await clock.advance(10 * refreshMs);
    expect(lists()).toBe(11);
    expect(news()).toEqual([]);
  });

  test("a project is not listed after the last Compute has left, and leaves no timer", async () => {
    const { clock, lister, lists } = watching();
    lister.use("a", undefined);
    await clock.advance(0);
    lister.leave("a");
    await clock.advance(10 * refreshMs);
    expect([lists(), clock.pending]).toEqual([1, 0]);
  });

  test("a project is not listed after the operator has stopped", async () => {
    const { clock, lister, stop, lists } = watching();
    lister.use("a", undefined);
    await clock.advance(0);
    stop.abort();
    lister.stop();
    await clock.advance(10 * refreshMs);
    expect([lists(), clock.pending]).toEqual([1, 0]);
  });
});

describe("a list that must be newer than a write", () => {
  test("counts only if it began after the write; the Compute is enqueued when it is there", async () => {
    const { clock, lister, lists, news } = watching();
    lister.use("a", undefined);
    await clock.advance(1000);
    news();
    expect(lister.listedAfter(500, "a")).toBeUndefined();
    await clock.advance(0);
    expect(lists()).toBe(2);
    expect(news()).toEqual(["a"]);
    expect(lister.listedAfter(500, "a")).toMatchObject({ startedAt: 1000 });
    expect(lister.listedAfter(1000, "a")).toBeUndefined();
  });

  test("a list in flight, which began before a write, is not newer than that", async () => {
    const { clock, service, lister, lists, news } = watching();
    let answer = () => {};
    service.script = () =>
      new Promise((resolve) => {
        answer = () => resolve(json(200, { endpoints: [] }));
      });
    lister.use("a", undefined);
    await clock.advance(100);
    expect(lister.listedAfter(50, "a")).toBeUndefined();
    answer();
    await clock.advance(0);
    expect(lister.listedAfter(50, "a")).toBeUndefined();
    await clock.advance(1000);
    answer();
    await clock.advance(0);
    expect(lists()).toBe(2);
    expect(lister.listedAfter(50, "a")).toBeDefined();
    expect(news()).toContain("a");
  });

  test("a newer list is shared by all Computes that ask together, and many requests are rate limited", async () => {
    const { clock, lister, lists } = watching();
    for (let n = 0; n < 50; n += 1) lister.use(`uid-${n}`, undefined);
    await clock.advance(1000);
    for (let n = 0; n < 50; n += 1) lister.listedAfter(1000, `uid-${n}`);
    await clock.advance(10);
    expect(lists()).toBe(2);
    for (let second = 0; second < 600; second += 1) {
      for (let n = 0; n < 5; n += 1) lister.listedAfter(clock.monotonic(), `uid-${n}`);
      await clock.advance(100);
    }
    expect(lists()).toBeLessThanOrEqual(2 + 60);
  });
});

describe("a list that fails", () => {
  test("a list that fails after a good one changes nothing: the good one counts for three refresh intervals", async () => {
    const { clock, service, lister, news } = watching([endpoint()]);
    lister.use("a", "ep-one");
    await clock.advance(0);
    news();
    service.script = () => refusal(500);
    await clock.advance(3 * refreshMs - 1);
    expect([lister.unseen, news()]).toEqual([undefined, []]);
    await clock.advance(1);
    expect([lister.unseen?.kind, news()]).toEqual(["unavailable", ["a"]]);
    await clock.advance(3 * refreshMs);
    expect(news()).toEqual([]);
    service.script = () => json(200, { endpoints: [endpoint()] });
    await clock.advance(refreshMs);
    expect([lister.unseen, lister.failure, news()]).toEqual([undefined, undefined, ["a"]]);
    service.script = () => refusal(500);
    await clock.advance(3 * refreshMs);
    expect(news()).toEqual(["a"]);
  });

  test("a failed list is reported from the second failure on, and the old list is not returned any more", async () => {
    const { clock, service, lister } = watching([endpoint()]);
    lister.use("a", "ep-one");
    await clock.advance(0);
    service.script = () => refusal(500);
    await clock.advance(refreshMs);
    expect([lister.failure, lister.listedAfter(-1, "a")?.endpoints.length]).toEqual([undefined, 1]);
    await clock.advance(1000);
    expect([lister.failure?.kind, lister.listedAfter(-1, "a")]).toEqual(["unavailable", undefined]);
  });

  test("ends visibility three intervals after the last list, also while it waits for its answer", async () => {
    const { clock, service, lister, news } = watching([endpoint()]);
    lister.use("a", "ep-one");
    await clock.advance(0);
    news();
    service.script = () => new Promise(() => {});
    await clock.advance(3 * refreshMs);
    expect([lister.unseen?.kind, news()]).toEqual(["unavailable", ["a"]]);
  });

  test("ends visibility three intervals after the first try if there never was a list", async () => {
    const { clock, service, lister } = watching();
    service.script = () => refusal(500);
    lister.use("a", undefined);
    await clock.advance(0);
    expect([lister.failure?.kind, lister.unseen]).toEqual(["unavailable", undefined]);
    await clock.advance(3 * refreshMs);
    expect(lister.unseen?.kind).toBe("unavailable");
  });

  test.each([
    ["project not found", gone()],
    ["a key without the right", refusal(403, "no")],
  ])("a list that fails by a refusal (%s) counts once another says the same five seconds later", async (_, answer) => {
    const { clock, service, lister, news } = watching([endpoint()]);
    lister.use("a", "ep-one");
    await clock.advance(0);
    news();
    service.script = () => answer;
    await clock.advance(refreshMs + 3000);
    expect([lister.unseen, news()]).toEqual([undefined, []]);
    await clock.advance(4000);
    expect([lister.unseen?.kind === undefined, news()]).toEqual([false, ["a"]]);
  });

  test("a failed list is reported after three minutes, however long the refresh interval", async () => {
    const { clock, service, lister, news } = watching([endpoint()], 24 * 3_600_000);
    lister.use("a", "ep-one");
    await clock.advance(0);
    news();
    service.script = () => refusal(500);
    lister.listedAfter(clock.monotonic(), "nobody");
    await clock.advance(182_000);
    expect([lister.unseen?.kind, news().includes("a")]).toEqual(["unavailable", true]);
  });

  test("a failed list is retried with growing delays, up to the refresh interval", async () => {
    const { clock, service, lister, lists } = watching();
    service.script = gone;
    lister.use("a", undefined);
    const at = [];
    for (let before = 0; clock.monotonic() < 120_000; await clock.advance(500)) {
      if (lists() > before) at.push(clock.monotonic() / 1000);
      before = lists();
      lister.listedAfter(clock.monotonic(), "a");
    }
    expect(at).toEqual([0.5, 1.5, 3.5, 7.5, 15.5, 31.5, 61.5, 91.5]);
  });

  test("a failed list is retried within a minute, however long the refresh interval", async () => {
    const hour = 3_600_000;
    const { clock, service, lister } = watching([], 24 * hour);
    service.script = () => refusal(503);
    lister.use("a", undefined);
    await clock.advance(3 * hour);
    expect(lister.failure?.kind).toBe("unavailable");
    service.script = () => json(200, { endpoints: [] });
    await clock.advance(60_000);
    expect(lister.failure).toBeUndefined();
  });

  test.each([
    ["without the array", json(200, {})],
    [
      "with an item without id",
      json(200, { endpoints: [{ project_id: "shop", branch_id: "br", type: "read_write", current_state: "active" }] }),
    ],
    ["cut off", { status: 200, body: undefined, json: false }],
    ["of another kind", json(200, [])],
  ])("a list also fails by an answer %s: it is half a list, and nothing is concluded", async (_, answer) => {
    const { clock, service, lister } = watching([endpoint()]);
    lister.use("a", undefined);
    await clock.advance(0);
    service.script = () => answer;
    await clock.advance(refreshMs);
    expect(lister.listing?.endpoints).toHaveLength(1);
    await clock.advance(1000);
    expect(lister.failure?.kind).toBe("unavailable");
  });
});
