import { describe, expect, test } from "vitest";
import { DeletionBrake } from "../../../src/operator/project/deletion-brake.ts";
import { Gate } from "../../../src/operator/project/gate.ts";
import { ProjectWriteLimiter } from "../../../src/operator/project/write-limiter.ts";
import { WriteWindow } from "../../../src/operator/project/write-window.ts";
import type { Caller } from "../../../src/operator/runtime/turnstile.ts";
import { RequestBudget } from "../../../src/operator/service-client/budget.ts";
import { RequestReservation } from "../../../src/operator/service-client/request-reservation.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";

/** The gates of Computes of one project, each for one reconcile, and what they share. */
function setUp({ deletions = 10, requests = 10 } = {}) {
  const clock = new VirtualClock();
  const woken: string[] = [];
  const brake = new DeletionBrake(clock, deletions);
  const asked: Pick<Caller, "key" | "flow">[] = [];
  const watched = {
    mayGo: (caller: Caller) => {
      asked.push({ key: caller.key, flow: caller.flow });
      return brake.mayGo(caller);
    },
    get isExhausted() {
      return brake.isExhausted;
    },
    count: (uid: string) => brake.count(uid),
    sent: (uid: string) => brake.sent(uid),
    leave: (uid: string) => brake.leave(uid),
  };
  const window = new WriteWindow(clock);
  const writeLimiter = new ProjectWriteLimiter({
    clock,
    window,
    showsNames: () => true,
    enqueue: (uids) => woken.push(...uids),
    operations: { writesRunningAt: () => 0, nextEndAfter: () => undefined },
  });
  const budget = new RequestBudget(clock, { perMinute: 6, burst: requests });
  const reservations = new Map<string, RequestReservation>();
  const gateOf = (uid: string) => {
    const enqueue = () => void woken.push(uid);
    const reservation = new RequestReservation(budget, uid, enqueue);
    reservations.set(uid, reservation);
    return new Gate({ uid, flow: "team/shop", brake: watched, writeLimiter, reservation, enqueue });
  };
  /** The write leaves with the request that was taken for it. */
  const send = (uid: string, gate: Gate) => {
    void reservations.get(uid)?.take(new AbortController().signal, 0);
    return gate.sends();
  };
  /** What a write of this Compute waits for, asked in a reconcile that then ends; one that may go is sent. */
  const pass = (uid: string, write: "deletion" | "other" = "other") => {
    const gate = gateOf(uid);
    const wait = gate.pass(write);
    const { isWaiting } = gate;
    if (wait === undefined) send(uid, gate);
    gate.end();
    expect(isWaiting).toBe(wait !== undefined);
    return wait;
  };
  return { clock, brake, asked, window, writeLimiter, budget, gateOf, pass, news: () => woken.splice(0) };
}

describe("a write", () => {
  test("a write that waits for the budget keeps the writeLimiter, and is enqueued when there is room", async () => {
    const { clock, pass, news } = setUp({ requests: 1 });
    expect(pass("first")).toBeUndefined();
    expect([pass("a"), pass("b")]).toEqual(["budget", "project"]);
    expect(news()).toEqual([]);
    await clock.advance(10_000);
    expect(news()).toEqual(["a"]);
    expect(pass("a")).toBeUndefined();
    expect(news()).toEqual(["b"]);
  });

  test("a write that waits for the budget has no other of its project wait there too, though the project takes several", () => {
    const { window, pass } = setUp({ requests: 1 });
    window.accepted();
    pass("first");
    expect([pass("a"), pass("b")]).toEqual(["budget", "project"]);
  });

  test("a write is not sent after the service has refused another of its project", () => {
    const { brake, window, gateOf } = setUp({ deletions: 1 });
    const gate = gateOf("a");
    gate.pass("deletion");
    window.refused();
    expect(gate.sends()).toBe(false);
    expect(brake.isExhausted).toBe(true);
    gate.end();
    expect(brake.isExhausted).toBe(false);
  });

  test("an accepted write ends the pauses after refusals, which grow until then", async () => {
    const { clock, gateOf, pass } = setUp();
    const answered = async (kind: "ok" | "busy", pauseMs: number) => {
      const gate = gateOf("a");
      expect(gate.pass("other")).toBeUndefined();
      gate.answered({ kind });
      expect(gate.waitsAgain).toBe(kind === "busy");
      gate.end();
      expect(pass("a")).toBe(pauseMs > 0 ? "project" : undefined);
      await clock.advance(pauseMs);
    };
    await answered("busy", 100);
    await answered("busy", 200);
    await answered("ok", 0);
    await answered("busy", 100);
    await answered("ok", 0);
  });

  test("a write that is not wanted any more when there is room leaves that to others", async () => {
    const { clock, budget, pass, gateOf, news } = setUp({ requests: 1 });
    pass("first");
    pass("a");
    await clock.advance(10_000);
    expect(news()).toEqual(["a"]);
    gateOf("a").end();
    expect(budget.tryTake("write", "others", () => {})).toBe(true);
    expect(pass("b")).toBe("budget");
  });

  test("gives up a deletion of the same Compute that waited for the brake", () => {
    const { brake, writeLimiter, pass } = setUp({ deletions: 1 });
    pass("first", "deletion");
    expect([pass("a", "deletion"), brake.held]).toEqual(["brake", 1]);
    writeLimiter.take("another");
    expect([pass("a"), brake.held]).toEqual(["project", 0]);
  });
});

describe("a deletion", () => {
  test("passes the brake by its Compute and project, counts, and gives its place there back", async () => {
    const { clock, asked, brake, pass } = setUp({ deletions: 2 });
    expect([pass("a", "deletion"), pass("b", "deletion")]).toEqual([undefined, undefined]);
    expect(asked).toEqual([
      { key: "a", flow: "team/shop" },
      { key: "b", flow: "team/shop" },
    ]);
    expect(brake.isExhausted).toBe(true);
    await clock.advance(60_000);
    expect(brake.isExhausted).toBe(false);
  });

  test("counts for a minute from when it leaves, which may be later than when it passed", async () => {
    const { clock, brake, gateOf } = setUp({ deletions: 1 });
    const gate = gateOf("a");
    expect(gate.pass("deletion")).toBeUndefined();
    await clock.advance(8000);
    gate.sends();
    await clock.advance(59_999);
    expect(brake.isExhausted).toBe(true);
    await clock.advance(1);
    expect(brake.isExhausted).toBe(false);
  });

  test("a deletion that waits for the brake keeps no writeLimiter, stays there, and is enqueued when it may go", async () => {
    const { clock, writeLimiter, brake, pass, news } = setUp({ deletions: 1 });
    pass("first", "deletion");
    expect(pass("a", "deletion")).toBe("brake");
    expect([brake.held, writeLimiter.take("another")]).toEqual([1, true]);
    writeLimiter.give("another");
    await clock.advance(60_000);
    expect(news()).toEqual(["a"]);
    expect(pass("a", "deletion")).toBeUndefined();
  });

  test("a deletion that waits for another of its project waits for the writeLimiter, and is enqueued after it", () => {
    const { gateOf, pass, news } = setUp();
    const gate = gateOf("a");
    gate.pass("other");
    expect([pass("b", "deletion"), pass("c", "deletion")]).toEqual(["project", "project"]);
    gate.end();
    expect(news()).toEqual(["b"]);
    expect(pass("b", "deletion")).toBeUndefined();
    expect(news()).toEqual(["c"]);
  });

  test("a deletion that passes and is not sent counts only until its reconcile ends, and frees the brake for the next", () => {
    const { brake, gateOf, pass, news } = setUp({ deletions: 1 });
    const gate = gateOf("a");
    expect(gate.pass("deletion")).toBeUndefined();
    expect([brake.isExhausted, pass("b", "deletion")]).toEqual([true, "brake"]);
    gate.end();
    expect(news()).toEqual(["b"]);
    expect(pass("b", "deletion")).toBeUndefined();
  });

  test("a deletion that waits for writeLimiter or budget does not count, and keeps its place at the brake", () => {
    const { writeLimiter, brake, pass } = setUp({ deletions: 1 });
    writeLimiter.take("another");
    expect(pass("a", "deletion")).toBe("project");
    expect(pass("b", "deletion")).toBe("brake");
    writeLimiter.give("another");
    expect(pass("a", "deletion")).toBeUndefined();
    expect(brake.isExhausted).toBe(true);
  });

  test("a deletion that is not wanted any more leaves its place to others", () => {
    const { writeLimiter, gateOf, pass, news } = setUp({ deletions: 1 });
    writeLimiter.take("another");
    pass("a", "deletion");
    pass("b", "deletion");
    news();
    gateOf("a").end();
    writeLimiter.give("another");
    gateOf("a").end();
    expect(news()).toContain("b");
    expect(pass("b", "deletion")).toBeUndefined();
  });
});

describe("a call that comes before the reconcile that asked has ended is kept for the next one of the same Compute", () => {
  test("at the deletion brake", async () => {
    const { clock, gateOf, pass, news } = setUp({ deletions: 1 });
    pass("first", "deletion");
    const [one, other] = [gateOf("one"), gateOf("other")];
    expect([one.pass("deletion"), other.pass("deletion")]).toEqual(["brake", "brake"]);
    await clock.advance(60_000);
    expect(news()).toEqual(["one"]);
    for (const gate of [one, other]) gate.end();
    expect([news(), pass("other", "deletion"), pass("one", "deletion")]).toEqual([[], "brake", undefined]);
  });

  test("at the write limiter", () => {
    const { gateOf, pass, news } = setUp();
    const [first, one, other] = [gateOf("first"), gateOf("one"), gateOf("other")];
    expect([first.pass("other"), one.pass("other"), other.pass("other")]).toEqual([undefined, "project", "project"]);
    first.end();
    expect(news()).toEqual(["one"]);
    for (const gate of [one, other]) gate.end();
    expect([news(), pass("other"), pass("one")]).toEqual([[], "project", undefined]);
  });

  test("at the request budget", async () => {
    const { clock, budget, gateOf, pass, news } = setUp({ requests: 1 });
    pass("first");
    const one = gateOf("one");
    expect([one.pass("other"), budget.tryTake("write", "other", () => {})]).toEqual(["budget", false]);
    await clock.advance(10_000);
    expect(news()).toEqual(["one"]);
    one.end();
    expect([budget.tryTake("write", "other", () => {}), pass("one")]).toEqual([false, undefined]);
  });
});
