import type { Holding } from "../../http/bytes-in-flight.ts";
import { refusals } from "../../refusal.ts";
import type { Field, TextRow } from "../sql-client.ts";

/** The length of the pieces that rows are collected in, in characters. */
const pieceLength = 65_536;

/**
 * The rows of one answer as JSON, made as they come from the server: a long answer made at its end would hold the
 * loop, and rows as values take many times their bytes.
 */
export class AnswerRows {
  readonly #arrayMode: boolean;
  readonly #holding: Holding;
  readonly #pieces: Buffer[] = [];
  /** The names of the columns as JSON, each with its colon. */
  #names: { of: readonly Field[]; texts: readonly string[] } = { of: [], texts: [] };
  #piece = "";
  #isEmpty = true;

  constructor(arrayMode: boolean, holding: Holding) {
    this.#arrayMode = arrayMode;
    this.#holding = holding;
  }

  /** Adds a row; answers a reason to take no more. */
  add(row: TextRow, fields: readonly Field[]): Error | undefined {
    this.#piece += `${this.#isEmpty ? "" : ","}${this.#arrayMode ? JSON.stringify(row) : this.#object(row, fields)}`;
    this.#isEmpty = false;
    return this.#piece.length < pieceLength ? undefined : this.#cut();
  }

  /** All of them: the elements of an array. */
  end(): readonly Buffer[] {
    const refused = this.#cut();
    if (refused) throw refused;
    return this.#pieces;
  }

  #cut(): Error | undefined {
    const bytes = Buffer.from(this.#piece);
    this.#piece = "";
    if (!this.#holding.take(bytes.length)) return refusals.noRoomForBytes();
    this.#pieces.push(bytes);
    return undefined;
  }

  #object(row: TextRow, fields: readonly Field[]): string {
    if (this.#names.of !== fields)
      this.#names = { of: fields, texts: fields.map(({ name }) => `${JSON.stringify(name)}:`) };
    const { texts } = this.#names;
    return `{${row.map((value, index) => `${texts[index] ?? ""}${JSON.stringify(value)}`).join(",")}}`;
  }
}
