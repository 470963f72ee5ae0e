import { type Fields, type Kind, template } from "./manifest.ts";
import type { RuleCase } from "./rule-case.ts";

type Row = readonly [rule: string, refused: Fields, message: string, passes: Fields];

const office = {
  name: "office",
  timeZone: "Europe/Berlin",
  days: ["Mon", "Fri"],
  from: "08:00",
  to: "19:00",
  computeUnits: { min: 2, max: 8 },
};
const sunday = { timeZone: "Europe/Berlin", days: ["Sun"], from: "02:00", to: "05:00" };

const entry = (fields: Fields): Fields => ({ schedule: [{ ...office, ...fields }] });
const open = (fields: Fields): Fields => ({ disruption: { windows: [{ ...sunday, ...fields }] } });
const nine = Array.from({ length: 9 }, (_, index) => ({ ...office, name: `entry-${index}` }));

/** Rules about one field of a schedule or a window, in the words of OpenAPI. */
const spanRows: readonly Row[] = [
  ["a time of the day has two digits", entry({ from: "8:00" }), "should match", entry({ from: "00:00" })],
  ["a day has no 24th hour", entry({ to: "24:00" }), "should match", entry({ to: "23:59" })],
  ["an hour has no 60th minute", open({ to: "05:60" }), "should match", open({ to: "05:59" })],
  ["a time of the day is given", open({ to: undefined }), "Required value", open({ to: "02:00" })],
  ["a weekday is one of seven", entry({ days: ["Monday"] }), "supported values", entry({ days: ["Mon", "Sun"] })],
  ["days name one at least", open({ days: [] }), "at least 1 items", open({ days: undefined })],
  ["a zone is no offset", open({ timeZone: "+01:00" }), "should match", open({ timeZone: "Etc/GMT-1" })],
  ["a zone is not Local", entry({ timeZone: "Local" }), "should match", entry({ timeZone: "UTC" })],
  ["a zone is not empty", entry({ timeZone: "" }), "should match", entry({ timeZone: undefined })],
  ["a schedule has at most eight entries", { schedule: nine }, "must have at most 8", { schedule: nine.slice(1) }],
  [
    "windows are eight at most",
    { disruption: { windows: Array.from({ length: 9 }, () => sunday) } },
    "must have at most 8",
    { disruption: { windows: Array.from({ length: 8 }, () => sunday) } },
  ],
  ["windows are one at least", { disruption: { windows: [] } }, "at least 1 items", { disruption: { anyTime: true } }],
  ["anyTime is true or absent", { disruption: { anyTime: false } }, 'supported values: "true"', open({})],
];

const takesOne = "disruption takes exactly one of windows and anyTime";
const zone = "timeZone must be a name of the IANA time zone database, for example Europe/Berlin";

/** Rules across fields of a schedule, in CEL. */
const scheduleRows: readonly Row[] = [
  ["a zone of a schedule exists", entry({ timeZone: "Mars/Olympus" }), zone, entry({ timeZone: "Pacific/Apia" })],
  ["a zone of a window exists", open({ timeZone: "Europe/Bonn" }), zone, open({ timeZone: "NZ-CHAT" })],
  [
    "an entry changes something",
    entry({ computeUnits: undefined }),
    "an entry of the schedule needs computeUnits, scaleToZero or both",
    entry({ computeUnits: undefined, scaleToZero: { enabled: false } }),
  ],
  [
    "entries have names of their own",
    { schedule: [office, office] },
    "each entry of the schedule needs a name of its own",
    { schedule: [office, { ...office, name: "Night_2" }] },
  ],
  [
    "an entry's size obeys the rules of a size",
    entry({ computeUnits: { min: 4, max: 2 } }),
    "computeUnits.min must not be greater than computeUnits.max",
    entry({ computeUnits: { min: 2, max: 4 } }),
  ],
];

/** Rules of alternatives, of which zod has no words. */
const disruptionRows: readonly Row[] = [
  [
    "disruption has windows or anyTime, not both",
    { disruption: { windows: [sunday], anyTime: true } },
    takesOne,
    open({}),
  ],
  ["disruption has windows or anyTime, not neither", { disruption: {} }, takesOne, { disruption: { anyTime: true } }],
];

const cases = (kind: Kind, rows: readonly Row[], within: (fields: Fields) => Fields = (fields) => fields): RuleCase[] =>
  rows.map(([rule, refused, message, passes]) => ({
    kind,
    rule,
    refused: within(refused),
    message,
    passes: within(passes),
  }));

export const spanCases: readonly RuleCase[] = cases("Compute", spanRows);

export const scheduleCelCases: readonly RuleCase[] = [
  ...cases("Compute", [...scheduleRows, ...disruptionRows]),
  ...cases("ComputePool", scheduleRows, template),
  ...cases("Branch", scheduleRows, (compute) => ({ compute })),
  ...cases("ServiceConnection", [
    ...disruptionRows,
    ["a zone of a connection's window exists", open({ timeZone: "Mars/Olympus" }), zone, open({ timeZone: "UTC" })],
  ]),
];
