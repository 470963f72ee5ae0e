import type { Holding } from "../../http/shares.ts";
import { refusals } from "../../refusal.ts";
import { AnswerTooLarge, type Field, type TextRow } from "../sql-client.ts";

/** The length of the pieces that the text is collected in, in characters. */
const pieceLength = 65_536;

/** The most characters of a value that are made JSON at once: each may take six. */
const sliceLength = 16_384;

/**
 * The text of an answer to `POST /sql`, made as its parts come from the server: a long answer made at its end would
 * hold the loop, and rows as values take many times their bytes. Each byte of it counts, the names of columns too: a
 * batch may name a thousand with each statement.
 */
export class AnswerText {
  readonly #holding: Holding;
  readonly #longest: number;
  readonly #pieces: Buffer[] = [];
  #piece = "";
  #bytes = 0;
  #refused: Error | undefined;

  /** `longest`: bytes. */
  constructor(holding: Holding, longest: number) {
    this.#holding = holding;
    this.#longest = longest;
  }

  /** The reason to take no more; what was added since is dropped. */
  get refused(): Error | undefined {
    return this.#refused;
  }

  add(text: string): void {
    if (this.#refused) return;
    this.#piece += text;
    if (this.#piece.length >= pieceLength) this.#cut();
  }

  /** Adds a value as JSON, a long one slice by slice. */
  addValue(value: string | null): void {
    if (value === null || value.length <= sliceLength) return this.add(JSON.stringify(value));
    this.add('"');
    // Two halves of a character, each written as an escape, are read as that character again.
    for (let at = 0; at < value.length && !this.#refused; at += sliceLength)
      this.add(JSON.stringify(value.slice(at, at + sliceLength)).slice(1, -1));
    this.add('"');
  }

  /** All of it. Throws the reason to take no more. */
  end(): readonly Buffer[] {
    this.#cut();
    if (this.#refused) throw this.#refused;
    return this.#pieces;
  }

  #cut(): void {
    const bytes = Buffer.from(this.#piece);
    this.#piece = "";
    this.#bytes += bytes.length;
    if (this.#bytes > this.#longest)
      this.#refused = new AnswerTooLarge(`the answer is larger than ${this.#longest} bytes`);
    else if (!this.#holding.take(bytes.length)) this.#refused = refusals.noRoomForBytes();
    else this.#pieces.push(bytes);
  }
}

/** The rows of one statement, as elements of an array. */
export class AnswerRows {
  readonly #text: AnswerText;
  readonly #arrayMode: boolean;
  /** The names of the columns as JSON, each with its colon. */
  #names: { of: readonly Field[]; texts: readonly string[] } = { of: [], texts: [] };
  #isEmpty = true;

  constructor(text: AnswerText, arrayMode: boolean) {
    this.#text = text;
    this.#arrayMode = arrayMode;
  }

  /** Adds a row; answers a reason to take no more. */
  add(row: TextRow, fields: readonly Field[]): Error | undefined {
    const text = this.#text;
    const [begin, end] = this.#arrayMode ? "[]" : "{}";
    text.add(`${this.#isEmpty ? "" : ","}${begin}`);
    this.#isEmpty = false;
    const names = this.#arrayMode ? [] : this.#namesOf(fields);
    for (const [index, value] of row.entries()) {
      text.add(`${index === 0 ? "" : ","}${names[index] ?? ""}`);
      text.addValue(value);
    }
    text.add(end ?? "");
    return text.refused;
  }

  #namesOf(fields: readonly Field[]): readonly string[] {
    if (this.#names.of !== fields)
      this.#names = { of: fields, texts: fields.map(({ name }) => `${JSON.stringify(name)}:`) };
    return this.#names.texts;
  }
}
