/** What a bench found out: one line of its table. */
export interface Figure {
  /** What was measured, e.g. `ADDED to create`. */
  name: string;
  unit: string;
  samples: readonly number[];
  /** What the median is to stay below. */
  below?: number;
}

/** One bench: a name to call it by, what it measures, and how. */
export interface Bench {
  name: string;
  measures: string;
  run(progress: (line: string) => void): Promise<Figure[]>;
}

/** The value below which this share of the samples lies, by the nearest rank. */
export function quantile(samples: readonly number[], share: number): number {
  const sorted = samples.toSorted((a, b) => a - b);
  const rank = Math.min(sorted.length - 1, Math.max(0, Math.ceil(share * sorted.length) - 1));
  return sorted[rank] ?? Number.NaN;
}

/**
 * A figure as one line, e.g. `ADDED to create: median 21.3 ms, p90 30.1, p95 35.0, max 41.0 (50 samples); below 100`.
 */
export function describeFigure({ name, unit, samples, below }: Figure): string {
  const at = (share: number) => quantile(samples, share).toFixed(1);
  const spread = `median ${at(0.5)} ${unit}, p90 ${at(0.9)}, p95 ${at(0.95)}, max ${at(1)} (${samples.length} samples)`;
  return `${name}: ${spread}${below === undefined ? "" : `; to be below ${below} ${unit}`}`;
}

/** Whether the median keeps what was promised. */
export function keeps({ samples, below }: Figure): boolean {
  return below === undefined || quantile(samples, 0.5) < below;
}
