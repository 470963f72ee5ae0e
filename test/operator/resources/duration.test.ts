import { expect, test } from "vitest";
import { duration, durationOf, millisecondsOf, secondsOf } from "../../../src/operator/resources/duration.ts";

test.each<[string, number | undefined]>([
  ["0s", 0],
  ["90s", 90],
  ["5m", 300],
  ["2h", 7200],
  ["1h30m5s", 5405],
  ["10m10m", 1200],
  ["", undefined],
  ["5", undefined],
  ["5d", 432_000],
  ["1d12h", 129_600],
  ["5w", undefined],
  ["1.5h", undefined],
  ["-5m", undefined],
  ["5m ", undefined],
  [" 5m", undefined],
  ["m", undefined],
])("the duration %j has as many seconds as it says", (text, seconds) => {
  expect(secondsOf(text)).toBe(seconds);
  expect(millisecondsOf(text)).toBe((seconds ?? 0) * 1000);
});

test.each([
  [0, "0s"],
  [59, "59s"],
  [60, "1m"],
  [61, "1m1s"],
  [300, "5m"],
  [3599, "59m59s"],
  [3600, "1h"],
  [3601, "1h1s"],
  [5400, "1h30m"],
  [86_399, "23h59m59s"],
  [360_000, "100h"],
])("%d seconds are written in the shortest way", (seconds, text) => {
  expect(durationOf(seconds)).toBe(text);
});

test("a field of a duration takes both its ends and nothing beyond, and says so", () => {
  const field = duration("interval", 5, 3600);
  const taken = (text: string) => field.safeParse(text).error?.issues.map(({ message }) => message) ?? "taken";
  expect(["5s", "3600s", "1h"].map(taken)).toEqual(["taken", "taken", "taken"]);
  const sentence = "interval must be between 5s and 1h, in the units s, m, h and d, for example 1h30m or 1d";
  for (const text of ["4s", "1h1s", "soon", "1d", `${"0".repeat(15)}5s`]) expect(taken(text)).toEqual([sentence]);
  expect(taken("0".repeat(20))).not.toBe("taken");
});
