import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { changesAt, holds, type Span, unknownZones, weekdays } from "../../../src/operator/resources/wall-clock.ts";
import { type CalendarYear, wallClocksOf, years } from "./independent-calendar.ts";

const minuteMs = 60_000;

const time = fc
  .tuple(fc.oneof(fc.integer({ min: 0, max: 4 }), fc.integer({ min: 0, max: 23 })), fc.integer({ min: 0, max: 59 }))
  .map(([hours, minutes]) => `${String(hours).padStart(2, "0")}:${String(minutes).padStart(2, "0")}`);

const spanIn = (zones: readonly string[]): fc.Arbitrary<Span> =>
  fc.record(
    {
      timeZone: fc.constantFrom(...zones),
      days: fc.uniqueArray(fc.constantFrom(...weekdays), { minLength: 1, maxLength: 7 }),
      from: time,
      to: time,
    },
    { requiredKeys: ["timeZone", "from", "to"] },
  );

const names = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];

const minuteOf = (text: string) => Number(text.slice(0, 2)) * 60 + Number(text.slice(3));

/** The independent calendar's clocks of a year, by zone. */
const clocks = years.map((year: CalendarYear) =>
  Object.fromEntries(Object.entries(year.zones).map(([zone, changes]) => [zone, wallClocksOf(year, changes)])),
);

/** True if the independent calendar has the minute of the year, by its number, in the span. */
function expectedHolds(span: Span, year: number): (minute: number) => boolean {
  const { days, times } = clocks[year]?.[span.timeZone ?? ""] ?? { days: [], times: [] };
  const begins = names.map((name) => span.days === undefined || span.days.some((day) => day === name));
  const [from, to] = [minuteOf(span.from), minuteOf(span.to)];
  return (minute) => {
    const [day = 0, now = 0] = [days[minute], times[minute]];
    const [today = false, yesterday = false] = [begins[day], begins[(day + 6) % 7]];
    if (from < to) return today && from <= now && now < to;
    return (today && from <= now) || (yesterday && now < to);
  };
}

/** Minutes of the year for which the answer, followed from change to change, is not the expected one. */
function wrongMinutes(spans: readonly Span[], { first, last }: CalendarYear, year: number): string[] {
  const answer = (at: number) => spans.findIndex((span) => holds(span, at));
  const expected = spans.map((span) => expectedHolds(span, year));
  const wrong: string[] = [];
  let current = answer(first * minuteMs);
  let next = changesAt(spans, answer, first * minuteMs) ?? Number.POSITIVE_INFINITY;
  for (let minute = first; minute <= last; minute += 1) {
    while (next <= minute * minuteMs) {
      current = answer(next);
      next = changesAt(spans, answer, next) ?? Number.POSITIVE_INFINITY;
    }
    const wanted = expected.findIndex((isIn) => isIn(minute - first));
    if (current !== wanted) wrong.push(`${new Date(minute * minuteMs).toISOString()}: ${current}, not ${wanted}`);
  }
  return wrong;
}

describe("the wall clock", () => {
  test.each(years.map((year, index) => [new Date(year.first * minuteMs).getUTCFullYear(), year, index] as const))(
    "the wall clock agrees with an independent calendar in every minute of the year from %i, in each zone",
    (_, year: CalendarYear, index) => {
      const spans = fc.array(spanIn(Object.keys(year.zones)), { minLength: 1, maxLength: 3 });
      fc.assert(
        fc.property(spans, (given) => {
          expect(wrongMinutes(given, year, index).slice(0, 3)).toEqual([]);
        }),
        { numRuns: 60 },
      );
    },
    60_000,
  );

  const sunday: Span = { timeZone: "America/New_York", days: ["Sun"], from: "01:30", to: "02:30" };
  const at = (text: string) => Date.parse(text);

  test("the wall clock counts an hour that a clock change repeats twice", () => {
    // 2025-11-02: 01:30 EDT is 05:30Z, and 01:30 EST an hour later.
    const shown = ["05:29", "05:30", "05:59", "06:00", "06:29", "06:30", "07:29", "07:30"].map((time_) =>
      holds(sunday, at(`2025-11-02T${time_}:00Z`)),
    );
    expect(shown).toEqual([false, true, true, false, false, true, true, false]);
  });

  test("the wall clock counts an hour that a clock change skips not at all", () => {
    const skipped: Span = { ...sunday, from: "02:00", to: "03:00" };
    const hours = Array.from({ length: 48 }, (_, half) => at("2025-03-09T00:00:00Z") + half * 30 * minuteMs);
    expect(hours.filter((hour) => holds(skipped, hour))).toEqual([]);
    // The Sunday after is the next.
    expect(changesAt([skipped], (now) => holds(skipped, now), at("2025-03-08T00:00:00Z"))).toBe(
      at("2025-03-16T06:00:00Z"),
    );
  });

  test("a span ends on the next day where to is not later than from, and after 24 hours where it is the same", () => {
    const night: Span = { days: ["Fri"], from: "22:00", to: "02:00" };
    expect(holds(night, at("2025-01-03T23:00:00Z"))).toBe(true);
    expect(holds(night, at("2025-01-04T01:59:00Z"))).toBe(true);
    expect(holds(night, at("2025-01-04T02:00:00Z"))).toBe(false);
    expect(holds(night, at("2025-01-03T01:00:00Z"))).toBe(false);
    const whole: Span = { days: ["Sat"], from: "08:00", to: "08:00" };
    expect(holds(whole, at("2025-01-04T07:59:00Z"))).toBe(false);
    expect(holds(whole, at("2025-01-04T08:00:00Z"))).toBe(true);
    expect(holds(whole, at("2025-01-05T07:59:00Z"))).toBe(true);
    expect(holds(whole, at("2025-01-05T08:00:00Z"))).toBe(false);
  });

  test("a span never holds in a zone that the platform does not know, and names it", () => {
    const lost: Span = { timeZone: "Mars/Olympus", from: "00:00", to: "00:00" };
    expect(holds(lost, at("2025-01-03T12:00:00Z"))).toBe(false);
    expect(changesAt([lost], (now) => holds(lost, now), at("2025-01-03T12:00:00Z"))).toBeUndefined();
    expect(unknownZones([lost, sunday, lost, {}])).toEqual(["Mars/Olympus"]);
  });

  test("a span has Etc/UTC as zone and every day where none is given", () => {
    const span: Span = { from: "10:00", to: "11:00" };
    expect(holds(span, at("2025-06-04T10:00:00Z"))).toBe(true);
    expect(changesAt([span], (now) => holds(span, now), at("2025-06-04T10:30:00Z"))).toBe(at("2025-06-04T11:00:00Z"));
    expect(changesAt([span], (now) => holds(span, now), at("2025-06-04T11:00:00Z"))).toBe(at("2025-06-05T10:00:00Z"));
  });
});
