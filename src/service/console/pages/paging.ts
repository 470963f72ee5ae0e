import type { Visit } from "../visit.ts";

/** Rows of a list on one page. */
const perPage = 50;

/** One more row than a page shows: it tells that there are more. */
export const mostFound = perPage + 1;

/** The position of the last row of the page before, as `?after=SEQ` gives it. */
export function positionIn({ query }: Visit): number | undefined {
  const { after = "" } = query;
  return /^[0-9]{1,15}$/.test(after) ? Number(after) : undefined;
}

/** The rows of this page, and the query of the next one if there is one. */
export function pageOf<Row extends { seq: number }>(
  found: readonly Row[],
  search: string,
): { shown: readonly Row[]; next: string | undefined } {
  const shown = found.slice(0, perPage);
  const last = shown.at(-1);
  if (found.length <= perPage || last === undefined) return { shown, next: undefined };
  const query = new URLSearchParams({ ...(search !== "" && { search }), after: String(last.seq) });
  return { shown, next: query.toString() };
}
