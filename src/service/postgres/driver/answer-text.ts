import { refusals } from "../../refusal.ts";
import type { Holding } from "../../sharing/shares.ts";
import type { RowSink, TextRow } from "../session/row-sink.ts";
import { AnswerTooLarge, type Field } from "../session/sql-client.ts";
import { isArray, jsonOfType, longestArrays, type Written } from "./json-values.ts";

/** The length of the pieces that the text is collected in, in characters. */
const pieceLength = 65_536;

/** The most characters of a value that are made JSON at once: each may take six. */
const sliceLength = 16_384;

/** The most bytes that are kept before there is room for them: those of one piece of the server's, as JSON. */
const mostOwed = 1024 ** 2;

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
  /** Bytes of the budget beyond those that are kept; below zero where there is no room for all of these yet. */
  #spare = 0;
  #waiting: Promise<void> | undefined;
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

  /** Adds a value as a text of JSON, a long one slice by slice. */
  addValue(value: string | null): void {
    if (value === null || value.length <= sliceLength) return this.add(JSON.stringify(value));
    this.add('"');
    // Two halves of a character, each written as an escape, are read as that character again.
    for (let at = 0; at < value.length && !this.#refused; at += sliceLength)
      this.add(JSON.stringify(value.slice(at, at + sliceLength)).slice(1, -1));
    this.add('"');
  }

  /** Takes no more, for a reason. */
  refuse(reason: Error): void {
    this.#refused ??= reason;
  }

  /** Adds a value as the JSON that it is, a long one slice by slice. */
  addJSON(json: string): void {
    for (let at = 0; at < json.length && !this.#refused; ) {
      // The bytes of half a character would be those of no character.
      const end = at + pieceLength + (/[\uD800-\uDBFF]/.test(json[at + pieceLength - 1] ?? "") ? 1 : 0);
      this.add(json.slice(at, end));
      at = end;
    }
  }

  /**
   * Waits for room, where there is none for what was added and for a value that is coming: no more may be added before.
   * `coming`: the bytes of it so far.
   */
  room(coming = 0): Promise<void> | undefined {
    if (this.#waiting || this.#refused) return this.#waiting;
    const missing = (coming > pieceLength ? coming : 0) - this.#spare;
    if (missing > 0) this.#waiting = this.#wait(missing);
    return this.#waiting;
  }

  /** All of it. Throws the reason to take no more. */
  async end(): Promise<readonly Buffer[]> {
    this.#cut();
    await this.room();
    if (this.#refused) throw this.#refused;
    return this.#pieces;
  }

  async #wait(missing: number): Promise<void> {
    const hasRoom = await this.#holding.room(missing);
    this.#waiting = undefined;
    if (hasRoom) this.#spare += missing;
    else this.#refused ??= refusals.noRoomForBytes();
  }

  #cut(): void {
    const bytes = Buffer.from(this.#piece);
    this.#piece = "";
    this.#bytes += bytes.length;
    if (this.#bytes > this.#longest) {
      this.#refused = new AnswerTooLarge(`the answer is larger than ${this.#longest} bytes`);
      return;
    }
    const hadRoom = this.#spare >= 0;
    this.#spare -= bytes.length;
    if (hadRoom && this.#spare < 0 && this.#holding.take(-this.#spare)) this.#spare = 0;
    if (this.#spare < -mostOwed) this.#refused = refusals.noRoomForBytes();
    else this.#pieces.push(bytes);
  }
}

/** The form of rows that a client asks for: arrays instead of objects, and values as text, whatever their type. */
export interface AnswerForm {
  arrayMode: boolean;
  rawText: boolean;
}

/** A column: what stands before each value of it, and how that is written where it is no text. */
interface Column {
  before: string;
  written: Written | undefined;
  /** True if its characters count as those of arrays. */
  counts: boolean;
}

/** The rows of one statement, as elements of an array. */
export class AnswerRows implements RowSink {
  readonly #text: AnswerText;
  readonly #form: AnswerForm;
  #columns: { of: readonly Field[]; each: readonly Column[] } = { of: [], each: [] };
  #isEmpty = true;

  constructor(text: AnswerText, form: AnswerForm) {
    this.#text = text;
    this.#form = form;
  }

  /** Adds a row; answers a reason to take no more. */
  add(row: TextRow, fields: readonly Field[]): Error | undefined {
    const text = this.#text;
    const [begin, end] = this.#form.arrayMode ? "[]" : "{}";
    text.add(`${this.#isEmpty ? "" : ","}${begin}`);
    this.#isEmpty = false;
    let inArrays = 0;
    const columns = this.#columnsOf(fields);
    for (const [index, value] of row.entries()) {
      const { before = "", written, counts } = columns[index] ?? {};
      if (counts) inArrays += value?.length ?? 0;
      if (inArrays > longestArrays) text.refuse(new AnswerTooLarge(tooLong));
      if (text.refused) break;
      text.add(before);
      if (value === null || !written) text.addValue(value);
      else text.addJSON(written(value));
    }
    text.add(end ?? "");
    return text.refused;
  }

  room(coming: number): Promise<void> | undefined {
    return this.#text.room(coming);
  }

  #columnsOf(fields: readonly Field[]): readonly Column[] {
    const { arrayMode, rawText } = this.#form;
    if (this.#columns.of !== fields) {
      const each = fields.map(({ name, dataTypeID }, index) => ({
        before: `${index === 0 ? "" : ","}${arrayMode ? "" : `${JSON.stringify(name)}:`}`,
        written: rawText ? undefined : jsonOfType(dataTypeID),
        counts: !rawText && isArray(dataTypeID),
      }));
      this.#columns = { of: fields, each };
    }
    return this.#columns.each;
  }
}

const tooLong = `a row whose arrays have more than ${longestArrays} characters is answered as text alone (Neon-Raw-Text-Output: true)`;
