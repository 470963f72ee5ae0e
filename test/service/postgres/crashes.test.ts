import { expect, it } from "vitest";
import { Crashes } from "../../../src/service/postgres/crashes.ts";

const minute = 60_000;

it("the end of a server is forgotten a minute later, whichever compute's server ends then", () => {
  const crashes = new Crashes();
  for (let compute = 0; compute < 1000; compute += 1) crashes.note(`ep-${compute}`, compute);
  expect([crashes.size, crashes.note("ep-999", minute + 998), crashes.size]).toEqual([1000, 1, 2]);
  expect([crashes.note("ep-other", 3 * minute), crashes.size]).toEqual([0, 1]);
});

it("the ends of a server count by its compute, and one that is noted twice counts once", () => {
  const crashes = new Crashes();
  const noted = [crashes.note("ep-a", 1), crashes.note("ep-b", 1), crashes.note("ep-a", 2), crashes.note("ep-a", 2)];
  expect([noted, crashes.size]).toEqual([[0, 0, 1, 1], 3]);
});
