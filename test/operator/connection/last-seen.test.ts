import { expect, test } from "vitest";
import { LastSeen } from "../../../src/operator/connection/project-visibility.ts";

const refused = { kind: "forbidden", message: "no" } as const;
const unavailable = { kind: "unavailable", message: "no answer" } as const;

test("what was seen counts for three refresh intervals, and for three minutes of failing lists at most", () => {
  const seen = new LastSeen(0);
  seen.listed(1000);
  expect(seen.lostAt(30_000)).toBe(91_000);
  seen.failed(unavailable, 20_000);
  seen.failed(unavailable, 40_000);
  expect([seen.lostAt(30_000), seen.lostAt(600_000)]).toEqual([91_000, 200_000]);
  seen.listed(50_000);
  expect(seen.lostAt(600_000)).toBe(1_850_000);
});

test.each([
  [4999, 90_000],
  [5000, 5000],
])(
  "a refusal counts once another, five seconds later, says the same: after %i ms it is lost at %i",
  (later, lostAt) => {
    const seen = new LastSeen(0);
    seen.failed(refused, 0);
    expect(seen.lostAt(30_000)).toBe(90_000);
    seen.failed(refused, later);
    expect(seen.lostAt(30_000)).toBe(lostAt);
  },
);

test("a refusal counts from its first, not from failures of another kind before", () => {
  const seen = new LastSeen(0);
  seen.failed(unavailable, 0);
  seen.failed(refused, 10_000);
  expect(seen.lostAt(30_000)).toBe(90_000);
  seen.failed(unavailable, 20_000);
  expect(seen.lostAt(600_000)).toBe(200_000);
});
