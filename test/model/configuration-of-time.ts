import { schedule, sized, windows } from "./calendar.ts";
import { configuration } from "./configuration.ts";
import type { Configuration, Phase } from "./terms.ts";

// Worlds with a wall clock: schedules, windows, and Computes that are only observed.

const evening: Phase = { at: "2026-11-28T20:00:00Z", isOpen: false };
const office: Phase = { at: "2026-11-29T08:00:00Z", isOpen: false, entry: 0 };
const after: Phase = { at: "2026-11-29T19:00:00Z", isOpen: false };
const open: Phase = { at: "2026-11-30T02:00:00Z", isOpen: true };
const closed: Phase = { at: "2026-11-30T03:00:00Z", isOpen: false };

/** A day with an entry, and a night with a window. */
export const officeDay = [evening, office, after];
export const windowNight = [after, open, closed];

const small = { computeUnits: sized(1), disruption: { windows } };

/** A made primary of size 1, with a window; its lists do not lag. */
export function timed(
  name: string,
  may: Configuration["may"],
  fields: Partial<Configuration> & Pick<Configuration, "phases">,
): Configuration {
  return configuration(name, {
    type: "read_write",
    startsMade: true,
    lagInstants: 0,
    stallInstants: 0,
    may: { post: 1, clock: fields.phases.length - 1, ...may },
    ...fields,
    spec: { ...small, ...fields.spec },
  });
}

const scheduled = { spec: { schedule }, phases: officeDay };
const windowed = { phases: windowNight };

/** Searched whole by `npm test`. */
export const configurationsOfTime: readonly Configuration[] = [
  timed("an edit of an entry, with a death", { reentry: 1, death: 1 }, scheduled),
  timed("an entry that gets another name, with a lost answer", { rename: 1, loss: 1 }, scheduled),
  timed("an entry that begins while the compute is made", { loss: 1 }, { ...scheduled, startsMade: false }),
  timed("an edit of settings and access, and a window", { tune: 1, loss: 1 }, windowed),
  timed("a resize outside, and a window", { drift: 1, resize: 1 }, windowed),
  timed("an edit of a compute that is suspended and woken", { resize: 1, idle: 1, wake: 1, clock: 0 }, windowed),
  timed(
    "a time until which connections may be cut",
    { resize: 1, allow: 1 },
    {
      phases: [evening, after],
      allowedUntil: after.at,
    },
  ),
  timed(
    "the window of the connection, and anyTime",
    { resize: 1, anyTime: 1 },
    {
      ...windowed,
      ofConnection: { windows },
      spec: { disruption: undefined },
    },
  ),
  timed("a move, a restart and a disable outside a window", { edit: 1, restart: 1, disable: 1, clock: 0 }, windowed),
  timed(
    "drift that is only reported, an edit and a death",
    { drift: 1, resize: 1, death: 1, clock: 1 },
    {
      ...windowed,
      spec: { driftPolicy: "Report" },
    },
  ),
  timed("a policy that changes to Observe and back", { observe: 2, resize: 1, clock: 1 }, windowed),
  timed("an observed Compute that is deleted", { observe: 1, drift: 1, delete: 1, clock: 0 }, windowed),
];

/** Larger ones, searched by `npm run verify`. */
export const largeConfigurationsOfTime: readonly Configuration[] = [
  timed(
    "an edit of an entry, with a death, from the first moment on",
    { reentry: 1, death: 1 },
    {
      ...scheduled,
      startsMade: false,
    },
  ),
  timed("two edits and a window, with a lost answer", { resize: 1, tune: 1, loss: 1 }, windowed),
  timed("an entry, settings that wait and a resize outside", { tune: 1, drift: 1, resize: 1 }, scheduled),
  timed(
    "a schedule and a window over four boundaries, with a death",
    { resize: 1, death: 1 },
    {
      spec: { schedule },
      phases: [evening, office, after, open, closed],
    },
  ),
  timed(
    "a policy that changes to Observe while a create is on its way",
    { observe: 2, late: 1, delete: 1, clock: 0 },
    {
      ...windowed,
      startsMade: false,
    },
  ),
  timed(
    "lists that lag, and a compute that is suspended and woken",
    { resize: 1, idle: 1, wake: 1, clock: 0 },
    {
      ...windowed,
      lagInstants: 1,
      held: true,
    },
  ),
];
