/** What was seen of the operator's process at one moment. */
export interface Sample {
  /** Minutes since the fleet began to churn. */
  minutes: number;
  heapMB: number;
  rssMB: number;
}

/** What a process holds open: after any amount of work it has to come back to the same, once all rests. */
export interface Handles {
  /** Open file descriptors. */
  descriptors: number;
  /** What Node calls active handles: sockets, servers, timers are not among them. */
  handles: number;
  /** Watches that the API server has open for it. */
  watches: number;
}

/** Megabytes by which the heap may grow in an hour before that is called a leak. */
export const mostHeapGrowth = 4;
/**
 * What one garbage collection leaves behind differs by some megabytes: fewer minutes than this tell nothing of a slope.
 */
export const fewestMinutes = 15;
/** The share of a run in which caches fill and code is compiled. */
const warmUp = 0.2;

/**
 * Megabytes an hour by which a figure grows: least squares over the lowest sample of each of twenty stretches of the
 * run, since what lies above the lowest is garbage that waits for its collection. The first fifth is not counted.
 */
export function slopePerHour(samples: readonly Sample[], figure: "heapMB" | "rssMB"): number {
  const end = Math.max(...samples.map(({ minutes }) => minutes));
  const counted = samples.filter(({ minutes }) => minutes >= end * warmUp);
  const stretches = Map.groupBy(counted, ({ minutes }) => Math.min(19, Math.floor((minutes / end) * 20)));
  const floors = [...stretches.values()].flatMap((stretch) => {
    const [lowest] = stretch.toSorted((a, b) => a[figure] - b[figure]);
    return lowest === undefined ? [] : [lowest];
  });
  return 60 * slope(floors.map((sample) => [sample.minutes, sample[figure]]));
}

/** The slope of the line that fits best; 0 where there are fewer than two different x. */
function slope(points: readonly (readonly [number, number])[]): number {
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const meanX = mean(points.map(([x]) => x));
  const meanY = mean(points.map(([, y]) => y));
  const spread = points.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0);
  const together = points.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0);
  return spread === 0 || points.length < 2 ? 0 : together / spread;
}

/** By how many each may differ: a connection or two stay open for the next request, or do not, and are no leak. */
const leeway: Readonly<Record<keyof Handles, number>> = { descriptors: 2, handles: 0, watches: 0 };

/** What the figures complain of: nothing, where memory is flat and nothing is held open that was not before. */
export function complaintsOf(samples: readonly Sample[], before: Handles, after: Handles): string[] {
  const complaints: string[] = [];
  const minutes = Math.max(...samples.map((sample) => sample.minutes));
  const growth = slopePerHour(samples, "heapMB");
  if (minutes >= fewestMinutes && growth > mostHeapGrowth) {
    complaints.push(`the heap grows by ${growth.toFixed(1)} MB an hour; ${mostHeapGrowth} are allowed`);
  }
  for (const [what, was] of entriesOf(before)) {
    if (Math.abs(after[what] - was) > leeway[what])
      complaints.push(`${was} ${what} at the start, ${after[what]} at the end`);
  }
  return complaints;
}

function entriesOf({ descriptors, handles, watches }: Handles): (readonly [keyof Handles, number])[] {
  return [
    ["descriptors", descriptors],
    ["handles", handles],
    ["watches", watches],
  ];
}
