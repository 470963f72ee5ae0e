// The wall clock of a time zone, from the platform's own calendar (`Intl`).
//
// A span is a piece of each of its days, by the wall clock: it holds the moments whose weekday and HH:MM lie in it. So
// an hour that a clock change repeats counts twice, and one that it skips not at all. All is pure; times are
// milliseconds since the epoch.

export const weekdays = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"] as const;
export type Weekday = (typeof weekdays)[number];

/** A piece of each day, from `from` on and before `to`, both HH:MM; `to` not later than `from` is the next day's. */
export interface Span {
  /** IANA name; absent: Etc/UTC. */
  timeZone?: string | undefined;
  /** The days on which it begins; absent: every day. */
  days?: readonly Weekday[] | undefined;
  from: string;
  to: string;
}

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** One for each zone that was asked for; `undefined`: the platform does not know the zone. */
const clocks = new Map<string, Intl.DateTimeFormat | undefined>();

function clockOf(zone: string): Intl.DateTimeFormat | undefined {
  if (!clocks.has(zone)) clocks.set(zone, newClock(zone));
  return clocks.get(zone);
}

function newClock(timeZone: string): Intl.DateTimeFormat | undefined {
  try {
    return new Intl.DateTimeFormat("en-US", { timeZone, timeZoneName: "longOffset" });
  } catch {
    return undefined;
  }
}

function zoneOf({ timeZone = "Etc/UTC" }: Pick<Span, "timeZone">): string {
  return timeZone;
}

/** The zones that this platform does not know: spans in them hold no moment. */
export function unknownZones(spans: readonly Pick<Span, "timeZone">[]): string[] {
  return [...new Set(spans.map(zoneOf))].filter((zone) => clockOf(zone) === undefined);
}

/** Milliseconds by which the wall clock of a zone is ahead of UTC at a time. */
function aheadMs(clock: Intl.DateTimeFormat, at: number): number {
  const [, sign, hours = "0", minutes = "0", seconds = "0"] =
    /GMT(?:([+-])(\d+):(\d\d)(?::(\d\d))?)?$/.exec(clock.format(at)) ?? [];
  const ms = Number(hours) * hourMs + Number(minutes) * minuteMs + Number(seconds) * 1000;
  return sign === "-" ? -ms : ms;
}

function msOf(time: string): number {
  return Number(time.slice(0, 2)) * hourMs + Number(time.slice(3)) * minuteMs;
}

/** True if the wall clock lies in the span at this time. */
export function holds(span: Span, at: number): boolean {
  const clock = clockOf(zoneOf(span));
  return clock !== undefined && holdsWall(span, at + aheadMs(clock, at));
}

/** `wall`: what the wall clock shows, as milliseconds since its own 1970. */
function holdsWall({ days, from, to }: Span, wall: number): boolean {
  const day = Math.floor(wall / dayMs);
  const time = wall - day * dayMs;
  const [begin, end] = [msOf(from), msOf(to)];
  const beginsOn = (ofDay: number) => days === undefined || days.includes(weekdayOf(ofDay));
  if (begin < end) return beginsOn(day) && time >= begin && time < end;
  return (time >= begin && beginsOn(day)) || (time < end && beginsOn(day - 1));
}

/** The first day of 1970 was a Thursday. */
function weekdayOf(day: number): Weekday {
  return weekdays[(((day + 3) % 7) + 7) % 7] ?? "Mon";
}

/** No span that holds anything in a week of wall clock is looked for further ahead: a clock change may skip one. */
export const horizonMs = 15 * dayMs;

/**
 * The first time after `now` at which `answer`, which changes only where a span begins or ends, is another than now;
 * `undefined`: there is none within the horizon.
 */
export function changesAt(spans: readonly Span[], answer: (at: number) => unknown, now: number): number | undefined {
  const before = answer(now);
  let at = now;
  while (at < now + horizonMs) {
    at = Math.min(...spans.map((span) => edgeAfter(span, at)));
    if (at < now + horizonMs && answer(at) !== before) return at;
  }
  return undefined;
}

/** The next time at which the wall clock shows an end of the span, or at which it jumps. */
function edgeAfter({ from, to, ...span }: Span, at: number): number {
  const clock = clockOf(zoneOf(span));
  if (clock === undefined) return Number.POSITIVE_INFINITY;
  const ahead = aheadMs(clock, at);
  const wall = at + ahead;
  const midnight = Math.floor(wall / dayMs) * dayMs;
  const edges = [from, to].flatMap((time) => [midnight + msOf(time), midnight + dayMs + msOf(time)]);
  const edge = Math.min(...edges.filter((time) => time > wall)) - ahead;
  return aheadMs(clock, edge) === ahead ? edge : jumpBetween(clock, at, edge, ahead);
}

/** The first whole minute after `after`, and not after `by`, at which the wall clock is not `ahead` as before. */
function jumpBetween(clock: Intl.DateTimeFormat, after: number, by: number, ahead: number): number {
  let [low, high] = [Math.floor(after / minuteMs), Math.ceil(by / minuteMs)];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (aheadMs(clock, middle * minuteMs) === ahead) low = middle;
    else high = middle;
  }
  return high * minuteMs;
}
