import { expect, it } from "vitest";
import { jointly, networkOf, Shares } from "../../../src/service/sharing/shares.ts";

/** The most that a holder gets of the budget, in steps of one. */
function most(bytes: Shares, holder: string): number {
  let taken = 0;
  while (bytes.of(holder).take(1)) taken += 1;
  return taken;
}

it("a holder alone gets half of the budget, the next ones half of what is left, and none of them nothing", () => {
  const bytes = new Shares(96);
  expect([most(bytes, "one"), most(bytes, "two"), most(bytes, "three")]).toEqual([48, 24, 12]);
  expect(bytes.all).toBe(84);
});

it("the thousands of networks of IPv6 that a provider gives one customer leave an eighth of the budget to others", () => {
  const connections = new Shares(96);
  const network = (index: number) => networkOf(`2001:db8:1:${index.toString(16)}::1`);
  const ofEach = Array.from({ length: 1000 }, (_, index) => most(connections, network(index)));
  expect(ofEach.slice(0, 4)).toEqual([48, 24, 12, 0]);
  expect([connections.all, most(connections, networkOf("2001:db8:2::1"))]).toEqual([84, 6]);
});

it("bytes that are given back are free, once, and nothing is left of a holder that has given back all", () => {
  const bytes = new Shares(100);
  const [one, two] = [bytes.of("one"), bytes.of("one")];
  expect([one.take(30), two.take(20), two.take(1)]).toEqual([true, true, false]);
  one.release();
  one.release();
  expect([bytes.all, two.take(30), two.take(1)]).toEqual([20, true, false]);
  expect(bytes.holders).toBe(1);
  two.release();
  expect([bytes.all, bytes.holders]).toEqual([0, 0]);
});

it("what a holder holds goes to another one whose share has room for it, and so nobody comes to hold more by that", () => {
  const bytes = new Shares(96);
  const parts = Array.from({ length: 48 }, () => bytes.of("one"));
  expect(parts.every((part) => part.take(1))).toBe(true);
  for (const part of parts) part.moveTo(undefined);
  expect(most(bytes, "one")).toBe(0);
  for (const part of parts) part.moveTo("two");
  expect([bytes.all, bytes.holders, most(bytes, "two"), most(bytes, "one")]).toEqual([48, 1, 0, 24]);
  const more = bytes.of("three");
  expect(more.take(6)).toBe(true);
  more.moveTo("two");
  expect([bytes.all, bytes.holders]).toEqual([78, 3]);
  for (const part of [...parts, more]) part.release();
  expect([bytes.all, bytes.holders]).toEqual([24, 1]);
});

/** A clock whose timers end with `late`. */
function patience(): { after: (ms: number, act: () => void) => () => void; late: () => void; open: () => number } {
  const timers = new Map<() => void, number>();
  return {
    after(ms, act) {
      if (ms === 0) setImmediate(act);
      else timers.set(act, ms);
      return () => timers.delete(act);
    },
    late() {
      for (const [act, ms] of timers) if (ms <= 20_000) act();
    },
    open: () => timers.size,
  };
}

it("patient parts that grow together all come to their end, one after another, and none is refused", async () => {
  const bytes = new Shares(1000);
  const clock = patience();
  const grow = async () => {
    const part = bytes.of("one", clock);
    for (let step = 0; step < 30; step += 1) if (!(await part.room(10))) return "refused";
    part.release();
    return "whole";
  };
  const ends = await Promise.all(Array.from({ length: 15 }, grow));
  expect(ends).toEqual(ends.map(() => "whole"));
  expect([bytes.all, clock.open()]).toEqual([0, 0]);
});

it("a part that begins does not wait behind those that grow, and other holders neither", async () => {
  const bytes = new Shares(1000);
  const clock = patience();
  const [first, second] = [bytes.of("one", clock), bytes.of("one", clock)];
  expect([await second.room(100), await first.room(250), await first.room(10)]).toEqual([true, true, true]);
  const waiting = second.room(10);
  expect(bytes.of("one", clock).take(10)).toBe(true);
  expect(bytes.of("two", clock).take(100)).toBe(true);
  first.release();
  expect(await waiting).toBe(true);
});

it("the part that grows before the others of its holder does so until its own end, not that of another", async () => {
  const bytes = new Shares(1000);
  const clock = patience();
  const [first, second, third] = ["one", "one", "one"].map((holder) => bytes.of(holder, clock));
  expect([await second?.room(100), await first?.room(250), third?.take(10)]).toEqual([true, true, true]);
  expect(await first?.room(10)).toBe(true);
  const waiting = second?.room(10);
  third?.release();
  await new Promise((resolve) => setImmediate(resolve));
  expect([bytes.all, await first?.room(10)]).toEqual([360, true]);
  first?.release();
  expect(await waiting).toBe(true);
});

it("a patient part waits for room for twenty seconds, and no more once it is given back", async () => {
  const bytes = new Shares(1000);
  const clock = patience();
  const [late, gone] = [bytes.of("one", clock), bytes.of("one", clock)];
  expect(bytes.of("one").take(500)).toBe(true);
  const waiting = late.room(10);
  clock.late();
  expect(await waiting).toBe(false);
  const given = gone.room(10);
  gone.release();
  expect([await given, clock.open(), bytes.all]).toEqual([false, 0, 500]);
});

it("a part without patience has room at once or not at all", async () => {
  const part = new Shares(100).of("one");
  expect([await part.room(50), await part.room(1)]).toEqual([true, false]);
});

it.each([
  ["127.0.0.1", "127.0.0.1"],
  ["::ffff:10.0.0.7", "10.0.0.7"],
  ["::FFFF:10.0.0.7", "10.0.0.7"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2"],
  ["2001:db8:1:2::9", "2001:db8:1:2"],
  ["2001:db8::9", "2001:db8:0:0"],
  ["2001:db8::1:2:3:4:5", "2001:db8:0:1"],
  ["::1", "0:0:0:0"],
  ["fe80::1%eth0", "fe80:0:0:0"],
])("a stranger at %s holds the part of %s", (address, network) => {
  expect(networkOf(address)).toBe(network);
});

it("a stranger whose address is not known holds one part with all such", () => {
  expect(networkOf(undefined)).toBe("");
});

it("what is taken of several budgets is given back to all where one of them has no room, and at its end", () => {
  const [one, other] = [new Shares(100), new Shares(10)];
  const place = jointly(one.of("a"), other.of("a"));
  expect([place.take(6), one.all, other.all]).toEqual([false, 0, 0]);
  expect([place.take(2), one.all, other.all]).toEqual([true, 2, 2]);
  place.release();
  expect([one.all, other.all]).toEqual([0, 0]);
});
