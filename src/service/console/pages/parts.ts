import type { RowsWanted } from "../../store/table.ts";
import { type Html, html, type Value } from "../html.ts";
import { tokenField } from "../layout.ts";

/** A table of a page; on a narrow screen each row of `cards` is one. */
export function table(caption: string | undefined, columns: readonly Value[], rows: Value, kind = "cards"): Html {
  return html`<div class="scroll"><table class="${kind}">${caption !== undefined && html`<caption>${caption}</caption>`}
<thead><tr>${columns.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
<tbody>${rows}</tbody></table></div>`;
}

/** A form in a line that makes or changes something, with the token without which none is accepted. */
export function lineForm(token: string, action: string, label: string, content: Html): Html {
  return html`<form class="create" method="post" action="${action}" autocomplete="off" aria-label="${label}">${tokenField(token)}${content}</form>`;
}

/** A form for what cannot be undone, such as `Delete`, a name, `for good`: two steps, without a script. */
export function confirmedForm(
  token: string,
  action: string,
  [verb, what, finality]: readonly [string, string, "for good" | "now"],
  content: Html,
): Html {
  return html`<details><summary aria-label="${verb} ${what}">${verb}…</summary>
<form method="post" action="${action}">${tokenField(token)}${content}
<button class="danger" aria-label="${verb} ${what} ${finality}">${verb} ${finality}</button></form></details>`;
}

/** A choice of a form. */
export function option(value: string | number, words: Value, isChosen = false): Html {
  return html`<option value="${value}"${isChosen && html` selected`}>${words}</option>`;
}

/** As `none`, in whole sentences: `places` are searched, and `yet` is said where nothing was looked for. */
export function nothingFound({ search, state }: RowsWanted, noun: string, places: string, yet: Html): Html {
  if (search !== "") return html`<p>No ${noun} has <q>${search}</q> in ${places}.</p>`;
  return state === "" ? yet : html`<p>No ${noun} is ${state}.</p>`;
}

/** The text in place of a list without rows: there are none yet, or none as they are looked for. */
export function none({ search, state }: Pick<RowsWanted, "search" | "state">, yet = "yet"): Html {
  return html`<p>None ${search === "" && state === "" ? yet : "like this"}.</p>`;
}
