import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { type CalendarYear, years } from "./independent-calendar.ts";

/** Prints the changes of a zone's clock between two minutes since the epoch, as the table has them. */
const program = `
import json, sys
from datetime import datetime
from zoneinfo import ZoneInfo
first, last, *zones = sys.argv[1:]
table = {}
for name in zones:
    zone, changes, before = ZoneInfo(name), [], None
    for minute in range(int(first), int(last) + 1):
        ahead = int(datetime.fromtimestamp(minute * 60, tz=zone).utcoffset().total_seconds() // 60)
        if ahead != before:
            changes.append([minute, ahead])
        before = ahead
    table[name] = changes
print(json.dumps(table))
`;

test.each(years.map((year: CalendarYear) => [new Date(year.first * 60_000).toISOString(), year] as const))(
  "the independent calendar is that of Python's zoneinfo in every minute of the year from %s",
  (_, { first, last, zones }) => {
    const given = [String(first), String(last), ...Object.keys(zones)];
    const printed: unknown = JSON.parse(execFileSync("python3", ["-c", program, ...given], { encoding: "utf8" }));
    expect(printed).toEqual(zones);
  },
  120_000,
);
