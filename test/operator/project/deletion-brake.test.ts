import { expect, test } from "vitest";
import { DeletionBrake } from "../../../src/operator/project/deletion-brake.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";

const minute = 60_000;

function setUp(perMinute: number) {
  const clock = new VirtualClock();
  const brake = new DeletionBrake(clock, perMinute);
  const called: string[] = [];
  /** By default each is of a project of its own. */
  const mayGo = (uid: string, flow = `tenant/${uid}`) => brake.mayGo({ key: uid, flow, ready: () => called.push(uid) });
  const goes = (uid: string, flow?: string) => {
    const may = mayGo(uid, flow);
    if (may) {
      brake.count(uid);
      brake.sent(uid);
      // Answered at once.
      brake.leave(uid);
    }
    return may;
  };
  return { clock, brake, mayGo, goes, called, news: () => called.splice(0) };
}

test("no more deletions go in any minute than are allowed, and each counts for a minute", async () => {
  const { clock, goes, news } = setUp(3);
  expect(["a", "b"].map((uid) => goes(uid))).toEqual([true, true]);
  await clock.advance(30_000);
  expect(["c", "d", "e"].map((uid) => goes(uid))).toEqual([true, false, false]);
  await clock.advance(29_999);
  expect(news()).toEqual([]);
  await clock.advance(1);
  expect(news()).toEqual(["d", "e"]);
  expect(["f", "d", "e"].map((uid) => goes(uid))).toEqual([false, true, true]);
  await clock.advance(30_000);
  expect(news()).toEqual(["f"]);
});

test("the place of one that was called goes to the next when it leaves, or is long in coming", async () => {
  const { clock, brake, goes, mayGo, news } = setUp(1);
  goes("first");
  for (const uid of ["a", "b", "c"]) mayGo(uid);
  await clock.advance(minute);
  expect(news()).toEqual(["a"]);
  brake.leave("a");
  expect(news()).toEqual(["b"]);
  await clock.advance(10_000);
  expect(news()).toEqual(["c"]);
  expect([mayGo("b"), mayGo("c")]).toEqual([false, true]);
});

test("tenants take turns, however many wait of one", async () => {
  const { clock, goes, news } = setUp(2);
  for (let n = 0; n < 100; n += 1) goes(`a-${n}`, `a/p-${n}`);
  for (let n = 0; n < 2; n += 1) goes(`b-${n}`, `b/p-${n}`);
  const order: string[] = [];
  for (let minutes = 0; minutes < 3; minutes += 1) {
    await clock.advance(minute);
    for (const uid of news()) {
      order.push(uid);
      goes(uid, "");
    }
  }
  expect(order.filter((uid) => uid.startsWith("b"))).toEqual(["b-0", "b-1"]);
  expect(order).toHaveLength(6);
});

test("one deletion of a project is called at a time, though the brake is not exhausted: they would wait for each other", () => {
  const { brake, mayGo, news } = setUp(10);
  expect([mayGo("a", "t/p"), mayGo("b", "t/p"), brake.isExhausted, brake.held]).toEqual([true, false, false, 0]);
  brake.count("a");
  expect([news(), mayGo("b", "t/p")]).toEqual([[], false]);
  brake.leave("a");
  expect(news()).toEqual(["b"]);
  expect(mayGo("b", "t/p")).toBe(true);
});

test("a tenant has four unanswered deletions at most, so that a mute service does not use up the minute of all", () => {
  const { brake, mayGo, news } = setUp(10);
  const uids = ["a", "b", "c", "d", "e"];
  expect(uids.map((uid) => mayGo(uid))).toEqual([true, true, true, true, false]);
  for (const uid of uids.slice(0, 4)) brake.count(uid);
  expect([news(), mayGo("e"), mayGo("other", "other/p")]).toEqual([[], false, true]);
  brake.leave("b");
  expect(news()).toEqual(["e"]);
});

test("tells how many are held back, until they go or no longer want to", async () => {
  const { clock, brake, goes } = setUp(1);
  for (const uid of ["goes", "waits", "waits too", "waits"]) goes(uid);
  expect(brake.held).toBe(2);
  brake.leave("waits too");
  expect(brake.held).toBe(1);
  await clock.advance(minute);
  goes("waits");
  expect(brake.held).toBe(0);
});

test("keeps no timer once it is dismissed, and does not forget what was counted", async () => {
  const { clock, brake, goes } = setUp(1);
  goes("a");
  goes("b");
  goes("c");
  brake.dismiss();
  expect([clock.pending, brake.held]).toEqual([0, 0]);
  expect(goes("b")).toBe(false);
  await clock.advance(minute);
  expect(goes("b")).toBe(true);
});

test("says whether it is exhausted: what was sent within a minute counts, and what was called", async () => {
  const { clock, brake, goes, mayGo } = setUp(2);
  await clock.advance(minute);
  goes("first");
  expect(brake.isExhausted).toBe(false);
  expect([mayGo("second"), mayGo("second"), brake.isExhausted, brake.held]).toEqual([true, true, true, 0]);
  brake.count("second");
  await clock.advance(minute);
  expect(brake.isExhausted).toBe(false);
});

test("one that leaves is not called, nor holds up the next", async () => {
  const { clock, brake, goes, news } = setUp(1);
  for (const uid of ["first", "leaves", "next"]) goes(uid);
  brake.leave("leaves");
  await clock.advance(minute);
  expect(news()).toEqual(["next"]);
  expect(brake.held).toBe(0);
});

test("one of a project that was called and is long in coming no longer keeps the others of it", async () => {
  const { clock, mayGo, news } = setUp(10);
  expect([mayGo("a", "t/p"), mayGo("b", "t/p")]).toEqual([true, false]);
  await clock.advance(9_999);
  expect(news()).toEqual([]);
  await clock.advance(1);
  expect(news()).toEqual(["b"]);
});

test("the place of one that is long in coming is given away before those that were counted are over", async () => {
  const { clock, goes, mayGo, news } = setUp(2);
  goes("counted");
  mayGo("called");
  goes("waits");
  await clock.advance(10_000);
  expect(news()).toEqual(["waits"]);
});

test("calls all who wait when something else changes", () => {
  const { brake, goes, news } = setUp(1);
  for (const uid of ["goes", "a", "b"]) goes(uid);
  brake.wakeAll();
  expect(news()).toEqual(["a", "b"]);
});

test("forgets on dismissal who waited and who was called", async () => {
  const { clock, brake, mayGo, goes } = setUp(1);
  mayGo("called");
  mayGo("waits");
  brake.dismiss();
  expect(mayGo("another")).toBe(true);
  brake.dismiss();
  goes("sent");
  mayGo("waits");
  brake.dismiss();
  await clock.advance(minute);
  expect(mayGo("another")).toBe(true);
});

test("keeps no timer where nobody waits, or nothing may ever go", () => {
  const [idle, closed] = [setUp(1), setUp(0)];
  idle.goes("first");
  expect(idle.clock.pending).toBe(0);
  expect(closed.goes("first")).toBe(false);
  expect(closed.clock.pending).toBe(0);
});

test("one that is sent more than a minute after it was counted is counted then, and no other is forgotten", async () => {
  const { clock, brake, mayGo, goes } = setUp(2);
  expect(mayGo("late")).toBe(true);
  brake.count("late");
  await clock.advance(minute);
  expect(goes("other")).toBe(true);
  brake.sent("late");
  expect(brake.isExhausted).toBe(true);
});

test("one that leaves twice gives its project's place back once", () => {
  const { brake, mayGo, news } = setUp(10);
  expect(["a", "b", "c"].map((uid) => mayGo(uid, "t/p"))).toEqual([true, false, false]);
  brake.count("a");
  brake.leave("a");
  brake.leave("a");
  expect(news()).toEqual(["b"]);
});
