import { expect, it } from "vitest";
import { Shares } from "../../../src/service/http/shares.ts";

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
