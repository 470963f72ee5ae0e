import { lastPage, type PageFound, type RowsWanted } from "../../store/table.ts";
import { type Html, html } from "../html.ts";
import { counted } from "../labels.ts";
import type { Visit } from "../visit.ts";
import { option } from "./parts.ts";

/** Rows of a list on one page. */
export const perPage = 50;

/** The most choices of a list in a form; for others there is the API. */
export const mostChoices = 400;

type Query = Readonly<Record<string, string>>;

/** The page number of the query; the first page if it has none. A page with several lists has a name for each. */
export function pageNumber(query: Query, name = "page"): number {
  return Math.max(1, Number(/^[0-9]{1,6}$/.exec(query[name] ?? "")?.[0] ?? 1));
}

/** The rows of a list that the query asks for. */
export interface Part extends RowsWanted {
  page: number;
}

export function partOf({ query }: Pick<Visit, "query">): Part {
  const { search = "", state = "", sort = "" } = query;
  return { search: search.trim().slice(0, 256), state, sort, page: pageNumber(query) };
}

/** A choice of a form: the value and its words. */
type Choice = readonly [value: string, words: string];

/** The search, the states and the orders of a list, as a form. The first choice stands for no value. */
export function listControls(
  visit: Pick<Visit, "path" | "query">,
  list: { search: string; states: readonly Choice[]; sorts: readonly Choice[] },
): Html {
  const { search, state, sort } = partOf(visit);
  const select = (name: string, label: string, chosen: string, choices: readonly Choice[]) =>
    choices.length > 1 &&
    html`<label>${label} <select name="${name}">${choices.map(([value, words]) => option(value, words, value === chosen))}</select></label>`;
  return html`<form class="search" method="get" action="${visit.path}" role="search">
<label for="search">${list.search}</label> <input id="search" type="search" name="search" value="${search}" maxlength="256">
${select("state", "State", state, list.states)} ${select("sort", "Sort", sort, list.sorts)}
<button>Search</button></form>`;
}

/** The query of a page with some values changed. Values that no list of the page reads are dropped. */
export function keptQuery(query: Query, changed: Query = {}): string {
  const kept = Object.entries(query).filter(([name, value]) => isKept.test(name) && value !== "");
  return new URLSearchParams({ ...Object.fromEntries(kept), ...changed }).toString();
}

const isKept = /^(search|state|sort|page(-.+)?)$/;

/** The number of rows, and links to the pages before and after one, where there are several. */
export function pageLinks(
  { path, query }: Pick<Visit, "path" | "query">,
  { page, total }: Omit<PageFound<unknown>, "rows">,
  noun: readonly [one: string, several: string],
  list?: { name: string; title: string },
): Html | undefined {
  const { name = "page", title } = list ?? {};
  const last = lastPage(total, perPage);
  const words = counted(total, ...noun);
  if (total === 0) return undefined;
  if (last === 1) return html`<p class="pages">${words}</p>`;
  const at = (other: number) => `${path}?${keptQuery(query, { [name]: String(other) })}`;
  return html`<nav aria-label="Pages${title !== undefined && ` of ${title}`}" class="pages">
${page > 1 && html`<a rel="prev" href="${at(page - 1)}">Previous</a>`} Page ${page} of ${last}, ${words}
${page < last && html`<a rel="next" href="${at(page + 1)}">Next</a>`}</nav>`;
}
