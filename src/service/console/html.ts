/** HTML that is safe to send: made by the `html` template alone. */
export class Html {
  readonly #text: string;

  private constructor(text: string) {
    this.#text = text;
  }

  /** For the template: its pieces come from the source, its values from anywhere. */
  static join(pieces: readonly string[], values: readonly Value[]): Html {
    return new Html(pieces.map((piece, index) => piece + textOf(values[index])).join(""));
  }

  toString(): string {
    return this.#text;
  }
}

/** What can stand in a template; nothing at all for `undefined` and `false`. */
export type Value = Html | string | number | undefined | false | readonly Value[];

/**
 * A template in which every value is escaped, unless it is HTML from such a template itself. Values stand in text or in
 * attributes with double quotes; both are safe.
 *
 *     html`<p title="${title}">${text}</p>`
 */
export function html(pieces: TemplateStringsArray, ...values: readonly Value[]): Html {
  return Html.join(pieces, values);
}

function textOf(value: Value): string {
  if (value === undefined || value === false) return "";
  if (value instanceof Html) return value.toString();
  if (typeof value === "object") return value.map(textOf).join("");
  return String(value).replaceAll(/[&<>"']/g, (character) => entities[character] ?? "");
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};
