import { type Html, html } from "../html.ts";
import type { Visit } from "../visit.ts";

/** Rows of a list on one page. */
export const perPage = 50;

/** The most choices of a list in a form; for others there is the API. */
export const mostChoices = 400;

/** The page number of the query; the first page if it has none. */
export function pageNumber(query: Readonly<Record<string, string>>): number {
  return Math.max(1, Number(/^[0-9]{1,6}$/.exec(query["page"] ?? "")?.[0] ?? 1));
}

/** Links to the pages before and after one, where there are several. */
export function pageLinks(page: number, rows: number): Html | undefined {
  const last = Math.ceil(rows / perPage);
  if (last <= 1) return undefined;
  return html`<nav aria-label="Pages" class="pages">
${page > 1 && html`<a rel="prev" href="?page=${page - 1}">Previous</a>`} Page ${page} of ${last}
${page < last && html`<a rel="next" href="?page=${page + 1}">Next</a>`}</nav>`;
}

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
