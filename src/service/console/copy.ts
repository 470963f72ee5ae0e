import { type Html, html } from "./html.ts";

/**
 * A button that copies the text of the element with this id, `what` in words. Where the page masks the text, `from` is
 * the address of the page that shows it. Without a script it is not shown.
 */
export function copyButton(id: string, what: string, from?: string): Html {
  return html`<button type="button" class="quiet copy" data-copy="${id}"${from !== undefined && html` data-from="${from}"`}>Copy<span
class="unseen"> ${what}</span></button>`;
}

/** A text with a button that copies it. */
export function copyable(id: string, text: string, what: string): Html {
  return html`<span class="copyable"><code id="${id}">${text}</code> ${copyButton(id, what)}</span>`;
}
