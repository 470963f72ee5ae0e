/** HTML that is safe to send: only the `html` template creates it. */
export class Html {
  readonly #text: string;

  private constructor(text: string) {
    this.#text = text;
  }

  /** For the template: its text comes from the source, its values from anywhere. */
  static join(pieces: readonly string[], values: readonly Value[]): Html {
    return new Html(pieces.map((piece, index) => piece + textOf(values[index])).join(""));
  }

  toString(): string {
    return this.#text;
  }
}

/** The values of a template; `undefined` and `false` add nothing. */
export type Value = Html | string | number | undefined | false | readonly Value[];

/**
 * A template that escapes every value, unless the value is HTML from such a template. Values may stand in text and in
 * attributes with double quotes.
 *
 * html`<p title="${title}">${text}</p>`
 */
export function html(pieces: TemplateStringsArray, ...values: readonly Value[]): Html {
  return Html.join(pieces, values);
}

function textOf(value: Value): string {
  if (value === undefined || value === false) return "";
  if (value instanceof Html) return value.toString();
  if (typeof value === "object") return value.map(textOf).join("");
  return entities.reduce((text, [character, entity]) => text.split(character).join(entity), String(value));
}

/** In this order, the ampersand first: of a million, one pass for each takes a third of the time of `replaceAll`. */
const entities = [
  ["&", "&amp;"],
  ["<", "&lt;"],
  [">", "&gt;"],
  ['"', "&quot;"],
  ["'", "&#39;"],
] as const;
