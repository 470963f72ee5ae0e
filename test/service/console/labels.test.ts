import { expect, it } from "vitest";
import { ago, moment, momentAhead, suspensionInWords } from "../../../src/service/console/labels.ts";

const [minute, hour, day] = [60_000, 3_600_000, 86_400_000];

it.each([
  [0, "just now"],
  [minute - 1, "just now"],
  [minute, "1 minute ago"],
  [hour - 1, "59 minutes ago"],
  [hour, "1 hour ago"],
  [day - 1, "23 hours ago"],
  [day, "1 day ago"],
  [2 * day, "2 days ago"],
])("%i ms ago are said as %j", (ms, words) => {
  expect(ago(ms)).toBe(words);
});

it.each([
  [0, "now"],
  [minute - 1, "now"],
  [minute, "in 1 minute"],
  [hour - 1, "in 59 minutes"],
  [hour, "in 1 hour"],
  [day - 1, "in 23 hours"],
  [day, "in 1 day"],
])("%i ms ahead are said as %j", (ms, words) => {
  const now = Date.UTC(2026, 0, 1);
  expect(moment(now - 1, now + ms).toString()).toMatch(
    /^<time datetime="2025-12-31T23:59:59[^"]*Z">2025-12-31 23:59 UTC</,
  );
  expect(momentAhead(now + ms, now).toString()).toMatch(new RegExp(`^<time datetime="2026-01-0.*</time>, ${words}$`));
});

it.each([
  [-1, "off"],
  [0, "after 5 minutes"],
  [1, "after 1 second"],
  [60, "after 1 minute"],
  [90, "after 90 seconds"],
  [3600, "after 1 hour"],
  [5400, "after 90 minutes"],
  [86_400, "after 1 day"],
  [90_000, "after 25 hours"],
])("scale to zero of %i seconds is said as %j", (seconds, words) => {
  expect(suspensionInWords(seconds)).toBe(words);
});
