import type { Database, Value } from "./database.ts";
import { idsOfOwners, type Owner, ownerLists } from "./projects.ts";
import { number, text } from "./row.ts";

/** A look at the usage of running computes that is not recorded yet. */
export interface Look {
  at: number;
  /** The milliseconds of the service's scaled time in one of the clock. */
  timeScale: number;
  /** The size in use of computes that serve clients, by id; others use the smallest of their range. */
  sizes: Readonly<Record<string, number>>;
}

/** Usage in milliseconds of the service's scaled time. */
export interface UsageMs {
  activeMs: number;
  /** Active time times compute units. */
  computeMs: number;
}

/** The values of a look, as the places of a statement have them. */
export function valuesOf({ at, timeScale, sizes }: Look): [at: number, timeScale: number, sizes: string] {
  return [at, timeScale, JSON.stringify(sizes)];
}

/** The places of a look's values in a statement. */
type Places = readonly [at: string, timeScale: string, sizes: string];

/** The sizes of a look as a table of its own, read once; it comes before the statement. */
export function sizesIn([, , sizes]: Places): string {
  return `WITH running AS MATERIALIZED (SELECT key AS id, value AS cu FROM json_each(${sizes}))`;
}

/** The size in use of each compute `e`, found by its key: within a sum, a subquery looks through all sizes for each. */
export const withSizes = "LEFT JOIN running ON running.id = e.id";

/** The unrecorded time of a running compute `e`. */
function activeMs([at, timeScale]: Places): string {
  return `round(max(0, ${at} - e.metered_at) * ${timeScale})`;
}

/** The unrecorded compute time of a running compute `e`; with `since` the part of it from a time on. */
export function computeMs(places: Places, since?: string): string {
  const size = "CASE WHEN e.min_cu = e.max_cu THEN e.max_cu ELSE coalesce(running.cu, e.min_cu) END";
  const whole = `round(${activeMs(places)} * ${size})`;
  if (since === undefined) return whole;
  const [at] = places;
  const part = `round(${whole} * max(0, ${at} - ${since}) / (${at} - e.metered_at))`;
  return `CASE WHEN e.metered_at >= ${since} THEN ${whole} ELSE ${part} END`;
}

const places = ["?3", "?4", "?5"] as const;
const isMetered = "e.metered_at IS NOT NULL";

/** The usage of running computes since their last record. Thousands run: an index has all that it needs. */
export class Unbooked {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  /** Of each of some projects; of those without a running compute there is none. */
  ofProjects(ids: readonly string[], look: Look): Map<string, UsageMs> {
    return this.#sums("project_id", [undefined, JSON.stringify(ids), ...valuesOf(look)]);
  }

  /** Of each branch of a project, or of one alone. */
  ofBranches(projectId: string, look: Look, id?: string): Map<string, UsageMs> {
    return this.#sums("branch_id", [id, JSON.stringify([projectId]), ...valuesOf(look)]);
  }

  #sums(of: "project_id" | "branch_id", values: readonly Value[]): Map<string, UsageMs> {
    const one = values[0] === undefined ? "?1 IS NULL" : "e.branch_id = ?1";
    const sql = `${sizesIn(places)} SELECT e.${of} AS id, sum(${activeMs(places)}) AS active_ms, sum(${computeMs(places)}) AS compute_ms
      FROM json_each(?2) wanted CROSS JOIN endpoints e INDEXED BY endpoints_metered ON e.project_id = wanted.value
      ${withSizes} WHERE ${isMetered} AND ${one} GROUP BY e.${of}`;
    const usageOf = (row: Parameters<typeof text>[0]) => ({
      activeMs: number(row, "active_ms"),
      computeMs: number(row, "compute_ms"),
    });
    return new Map(this.#db.all(sql, ...values).map((row) => [text(row, "id"), usageOf(row)]));
  }

  /** The compute time of some owners' projects from each of some times on. */
  since(owners: readonly Owner[], times: readonly number[], look: Look): number[] {
    const sums = times.map((_, n) => `coalesce(sum(${computeMs(places, `?${n + 6}`)}), 0) AS sum${n}`);
    const sql = `${sizesIn(places)} SELECT ${sums.join(", ")}
      FROM ${idsOfOwners} owned CROSS JOIN endpoints e INDEXED BY endpoints_metered ON e.project_id = owned.id
      ${withSizes} WHERE ${isMetered}`;
    const row = this.#db.one(sql, ...ownerLists(owners), ...valuesOf(look), ...times) ?? {};
    return times.map((_, n) => number(row, `sum${n}`));
  }
}
