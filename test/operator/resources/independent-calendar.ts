/**
 * The clocks of six zones as Python's zoneinfo has them in 2025, and Apia's in the year in which it skipped a day: by
 * how many minutes each is ahead of UTC, from which minute since the epoch on.
 */
export const years = [
  {
    first: 28928160,
    last: 29453759,
    zones: {
      "Australia/Lord_Howe": [
        [28928160, 660],
        [29064420, 630],
        [29326530, 660],
      ],
      "Pacific/Apia": [[28928160, 780]],
      "Africa/Casablanca": [
        [28928160, 60],
        [29004600, 0],
        [29065080, 60],
      ],
      "Pacific/Chatham": [
        [28928160, 825],
        [29064360, 765],
        [29316360, 825],
      ],
      "America/New_York": [
        [28928160, -300],
        [29025060, -240],
        [29367720, -300],
      ],
      UTC: [[28928160, 0]],
    },
  },
  {
    first: 21824640,
    last: 22351679,
    zones: {
      "Pacific/Apia": [
        [21824640, -660],
        [21947880, -600],
        [22087320, 840],
        [22220040, 780],
      ],
    },
  },
] as const satisfies readonly CalendarYear[];

export interface CalendarYear {
  /** Minutes since the epoch. */
  first: number;
  last: number;
  zones: Readonly<Record<string, readonly (readonly [since: number, ahead: number])[]>>;
}

/** What the wall clock of a zone shows in each minute of a year: the weekday (0: Sunday) and the minute of the day. */
export function wallClocksOf({ first, last }: CalendarYear, changes: readonly (readonly [number, number])[]) {
  const days = new Uint8Array(last - first + 1);
  const times = new Uint16Array(last - first + 1);
  for (let minute = first; minute <= last; minute += 1) {
    const ahead = changes.findLast(([since]) => since <= minute)?.[1] ?? 0;
    const shown = new Date((minute + ahead) * 60_000);
    days[minute - first] = shown.getUTCDay();
    times[minute - first] = shown.getUTCHours() * 60 + shown.getUTCMinutes();
  }
  return { days, times };
}
