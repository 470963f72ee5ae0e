import type { StoredEndpoint } from "../../store/endpoints.ts";
import { type Html, html } from "../html.ts";
import { tokenField } from "../layout.ts";
import type { Visit } from "../visit.ts";
import { sizeOptions, suspensionOptions, suspensionValue } from "./options.ts";
import { keptQuery } from "./paging.ts";

/**
 * The size and scale to zero of a compute, to be changed in place. The form is sent to its own page, so a refusal is
 * shown there with the person's choices kept. It contains the previous values, so only changed fields are sent to the
 * API.
 */
export function sizeForm({ token, path, query, form }: Visit, compute: StoredEndpoint, free: boolean): Html {
  const { id, minCu, maxCu, suspendTimeoutSeconds } = compute;
  const shown = { min: minCu, max: maxCu, suspend: suspensionValue(suspendTimeoutSeconds) };
  const chosen = (field: keyof typeof shown) =>
    form["compute"] === id && form[field] !== undefined ? Number(form[field]) : shown[field];
  return html`<form class="change" method="post" action="${path}?${keptQuery(query)}" autocomplete="off"
aria-label="Change ${id}">${tokenField(token)}<input type="hidden" name="compute" value="${id}">
<input type="hidden" name="shown" value="${shown.min}/${shown.max}/${shown.suspend}">
<span><label for="min-${id}">From</label> <select id="min-${id}" name="min">${sizeOptions(chosen("min"), free)}</select>
<label for="max-${id}">to</label> <select id="max-${id}" name="max">${sizeOptions(chosen("max"), free)}</select> vCPU</span>
<span><label for="suspend-${id}">Scale to zero</label>
<select id="suspend-${id}" name="suspend">${suspensionOptions(chosen("suspend"), free)}</select>
<button class="quiet" aria-label="Save ${id}">Save</button></span></form>`;
}
