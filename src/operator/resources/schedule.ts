import { z } from "zod";
import { columnOf } from "../../api/table.ts";
import { computeFields } from "./compute-fields.ts";
import { brokenAt, type WrittenRule, withRules } from "./fields.ts";
import { unknownZones, weekdays } from "./wall-clock.ts";

/** Most entries of a schedule, and most windows. */
const most = 8;

/** The pattern alone refuses what Go takes for a zone and IANA does not: the empty text, `Local` and offsets. */
const knownZone: WrittenRule<string> = {
  cel: "timestamp('2026-01-01T00:00:00Z').getHours(self) >= 0",
  message: "timeZone must be a name of the IANA time zone database, for example Europe/Berlin",
  written: (zone) => unknownZones([{ timeZone: zone }]).length === 0,
};

const time = (what: string) =>
  z
    .string()
    .max(5)
    .regex(/^([01][0-9]|2[0-3]):[0-5][0-9]$/, "must be a time of the day such as 08:00")
    .describe(what);

const span = {
  timeZone: withRules(
    z
      .string()
      .max(64)
      .regex(
        /^(Libya|[A-KM-Z][A-Za-z0-9+-]*|[A-Z][A-Za-z0-9_+-]*(\/[A-Za-z0-9_+-]+)+)$/,
        "must be a name of the IANA time zone database, for example Europe/Berlin",
      ),
    knownZone,
  )
    .optional()
    .describe("Name of the IANA time zone database, for example Europe/Berlin. Left out: Etc/UTC."),
  days: z
    .array(z.enum(weekdays))
    .min(1)
    .max(7)
    .meta({ "x-kubernetes-list-type": "set" })
    .optional()
    .describe("Days on which it begins, by the wall clock, for example [Mon, Tue, Sun]. Left out: every day."),
  from: time("Time of the day from which on it holds, by the wall clock of the zone, for example 08:00."),
  to: time(
    "Time of the day at which it ends, for example 19:00. Not later than from: on the next day; equal: 24 hours long.",
  ),
};

const { computeUnits, scaleToZero } = columnOf(computeFields, "crd");

const entry = withRules(
  z.object({
    name: z
      .string()
      .min(1)
      .max(63)
      .regex(
        /^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/,
        "must begin and end with a letter or digit, with -, _ and . between",
      )
      .describe(
        "Name of the entry, unique in the schedule, for example office; status.schedule.active shows it while it is in force.",
      ),
    ...span,
    computeUnits: computeUnits.describe("Size while the entry is in force, instead of that of the spec."),
    scaleToZero: scaleToZero.describe("Suspension while the entry is in force, instead of that of the spec."),
  }),
  {
    cel: "has(self.computeUnits) || has(self.scaleToZero)",
    message: "an entry of the schedule needs computeUnits, scaleToZero or both",
    holds: (given) => given.computeUnits !== undefined || given.scaleToZero !== undefined,
  },
);

/** The entries of a Compute's schedule. */
export const schedule = withRules(z.array(entry).max(most), {
  cel: "self.all(entry, self.exists_one(other, other.name == entry.name))",
  message: "each entry of the schedule needs a name of its own",
  holds: (entries) => new Set(entries.map(({ name }) => name)).size === entries.length,
}).describe(
  "Hours of other sizes. The first entry in force, by the wall clock of its zone, replaces the fields of this spec that it names; at its beginning and end the change is sent at once, also outside of windows.",
);

/** The times at which a change may cut connections. */
export const disruption = z
  .union([
    z.strictObject({
      windows: z.array(z.object(span)).min(1).max(most).describe("Times in which connections may be cut."),
    }),
    z.strictObject({
      anyTime: z.literal(true).describe("true: connections may be cut at any time, whatever the connection says."),
    }),
  ])
  .meta({
    "x-kubernetes-validations": [
      {
        rule: "has(self.windows) != has(self.anyTime)",
        message: "disruption takes exactly one of windows and anyTime",
      },
    ],
  });

export type Schedule = z.output<typeof schedule>;
export type ScheduleEntry = Schedule[number];
export type Disruption = z.output<typeof disruption>;

/** Zones of a written schedule or disruption that are not known here. */
export function brokenZones(spec: {
  schedule?: Schedule | undefined;
  disruption?: Disruption | undefined;
}): { path: string[]; message: string }[] {
  const windows = spec.disruption !== undefined && "windows" in spec.disruption ? spec.disruption.windows : [];
  const zonesIn = (path: string[], spans: readonly { timeZone?: string | undefined }[]) =>
    spans.flatMap(({ timeZone }, index) => brokenAt([...path, String(index), "timeZone"], timeZone, knownZone));
  return [...zonesIn(["schedule"], spec.schedule ?? []), ...zonesIn(["disruption", "windows"], windows)];
}
