import type { Database } from "./database.ts";
import { number, text } from "./row.ts";
import { type Kept, keptIn, type Merge, Table } from "./table.ts";

/** Usage in one of the periods of equal length that follow one another since the epoch. */
export interface Period {
  /** The number of periods before it. */
  index: number;
  /** Time on the clock that computes were active, in milliseconds, summed over computes. */
  activeMs: number;
  /** Active time times compute units, in milliseconds of the service's scaled time. */
  computeMs: number;
  /** The most that were seen at one time: active computes of a project, connections of a compute. */
  peak: number;
  /** Number of times that a compute became active. */
  wakes: number;
}

type Amount = Exclude<keyof Period, "index">;

/** A part of the usage in a period; amounts left out are 0. */
export type PartOfPeriod = Pick<Period, "index"> & Partial<Period>;

interface PeriodKind {
  table: string;
  /** The columns of the owner's id and of the index. */
  owner: string;
  unit: string;
  /** The columns of the amounts that the table has; the others are 0. */
  amounts: Partial<Readonly<Record<Amount, string>>>;
  /** Number of periods kept for each owner. */
  kept: number;
}

const used = { activeMs: "active_ms", computeMs: "compute_ms" } as const;

/** Of projects, by the hour: a week. */
export const usageHours: PeriodKind = {
  table: "usage_hours",
  owner: "project_id",
  unit: "hour",
  amounts: { ...used, peak: "peak" },
  kept: 7 * 24,
};

/** Of computes, by the quarter of an hour: a day. */
export const endpointQuarters: PeriodKind = {
  table: "endpoint_quarters",
  owner: "endpoint_id",
  unit: "quarter",
  amounts: { ...used, peak: "connections", wakes: "wakes" },
  kept: 4 * 24,
};

/** Of computes, by the day in UTC: a week, and the day on which it began. */
export const endpointDays: PeriodKind = {
  table: "endpoint_days",
  owner: "endpoint_id",
  unit: "day",
  amounts: { computeMs: "compute_ms" },
  kept: 8,
};

const merged: Readonly<Record<Amount, Merge>> = { activeMs: "add", computeMs: "add", peak: "largest", wakes: "add" };

const noUsage: Omit<Period, "index"> = { activeMs: 0, computeMs: 0, peak: 0, wakes: 0 };

/** An amount for which a table has no column. */
const notKept: Kept<number> = { columns: [], read: () => 0, write: () => [] };

/** The usage of owners by periods of one length: what is added to a period is summed, and the largest peak counts. */
export class Periods {
  readonly #kind: PeriodKind;
  readonly #table: Table<Period & { owner: string }>;

  constructor(db: Database, kind: PeriodKind) {
    const keptAs = (amount: Amount) => {
      const column = kind.amounts[amount];
      return column === undefined ? notKept : keptIn(column, number);
    };
    this.#kind = kind;
    this.#table = new Table(db, kind.table, {
      owner: keptIn(kind.owner, text),
      index: keptIn(kind.unit, number),
      activeMs: keptAs("activeMs"),
      computeMs: keptAs("computeMs"),
      peak: keptAs("peak"),
      wakes: keptAs("wakes"),
    });
  }

  /** Adds parts, the newest period last. */
  add(ownerId: string, ...parts: readonly PartOfPeriod[]): void {
    const { owner, unit, kept } = this.#kind;
    const last = parts.at(-1);
    if (last === undefined) return;
    for (const part of parts) this.#table.upsert({ owner: ownerId, ...noUsage, ...part }, merged);
    this.#table.delete(`WHERE ${owner} = ? AND ${unit} <= ?`, ownerId, last.index - kept);
  }

  /** The periods of an owner from one on, oldest first; those without usage are left out. */
  since(ownerId: string, first: number): Period[] {
    const { owner, unit } = this.#kind;
    return this.#table.all(`WHERE ${owner} = ? AND ${unit} >= ? ORDER BY ${unit}`, ownerId, first);
  }

  /** The newest periods up to one, oldest first, with parts that are not stored yet. */
  upTo(ownerId: string, last: number, count: number, parts: readonly PartOfPeriod[]): Period[] {
    const first = last - count + 1;
    const periods = Array.from({ length: count }, (_, at): Period => ({ index: first + at, ...noUsage }));
    for (const part of [...this.since(ownerId, first), ...parts]) {
      const period = periods[part.index - first];
      if (period === undefined) continue;
      const { activeMs, computeMs, peak, wakes } = { ...noUsage, ...part };
      period.activeMs += activeMs;
      period.computeMs += computeMs;
      period.peak = Math.max(period.peak, peak);
      period.wakes += wakes;
    }
    return periods;
  }
}
