import { expect, it } from "vitest";
import { networkOf, Shares } from "../../../src/service/http/shares.ts";

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

it("bytes that are given back are free, once", () => {
  const bytes = new Shares(100);
  const [one, two] = [bytes.of("one"), bytes.of("one")];
  expect([one.take(30), two.take(20), two.take(1)]).toEqual([true, true, false]);
  one.release();
  one.release();
  expect([bytes.all, two.take(30), two.take(1)]).toEqual([20, true, false]);
  two.release();
  expect(bytes.all).toBe(0);
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
