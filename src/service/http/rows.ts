import type { ServiceClock } from "../clock.ts";
import { refusals } from "../refusal.ts";

/** Longest time for which text is made in one turn of the loop, in milliseconds: one row is never cut. */
const longestTurnMs = 25;

/**
 * A list in a body, or an object where `nameOf` gives its fields their names. The rows are read in one go, so all have
 * one state; each is shown when its text is made, which may be turns of the loop later: `view` looks at nothing else
 * that changes. A row that it shows as `undefined` is left out.
 */
export class Rows<Row> {
  readonly #rows: Iterable<Row>;
  readonly #view: (row: Row) => unknown;
  readonly #nameOf: ((row: Row) => string) | undefined;

  constructor(rows: Iterable<Row>, view: (row: Row) => unknown, nameOf?: (row: Row) => string) {
    this.#rows = rows;
    this.#view = view;
    this.#nameOf = nameOf;
  }

  /** The JSON text, at least a piece for each row. */
  *pieces(): Generator<string> {
    const [begin, end] = this.#nameOf ? ["{", "}"] : ["[", "]"];
    let before = begin;
    for (const row of this.#rows) {
      const shown = this.#view(row);
      if (shown === undefined) yield "";
      else {
        const name = this.#nameOf ? `${JSON.stringify(this.#nameOf(row))}:` : "";
        yield `${before}${name}${JSON.stringify(shown)}`;
        before = ",";
      }
    }
    yield before === begin ? `${begin}${end}` : end;
  }
}

/** The turns of the loop in which a long text is made. */
export interface TurnsOfLoop {
  clock: Pick<ServiceClock, "now">;
  /** The time of this turn's beginning. */
  begun: number;
  /** Resolves in a later turn; absent where the text is made in one go. */
  turn?: (() => Promise<void>) | undefined;
  /** Aborts when nobody waits for the text any more. */
  gone?: AbortSignal | undefined;
}

/**
 * The JSON text of a body: at once where it has no `Rows`, or one turn is enough for them. Rejects with `Refusal` where
 * the client has left.
 */
export function textOf(body: unknown, { clock, begun, turn, gone }: TurnsOfLoop): string | Promise<string> {
  if (!hasRows(body)) return JSON.stringify(body);
  const pieces = piecesOf(body);
  const made: string[] = [];
  const makesAll = (since: number) => {
    for (;;) {
      const next = pieces.next();
      if (next.done) return true;
      made.push(next.value);
      if (turn && clock.now() - since >= longestTurnMs) return false;
    }
  };
  const inTurns = async (next: () => Promise<void>) => {
    do {
      await next();
      if (gone?.aborted) throw refusals.unavailable("the client has left");
    } while (!makesAll(clock.now()));
    return made.join("");
  };
  return makesAll(begun) || !turn ? made.join("") : inTurns(turn);
}

function hasRows(body: unknown): body is object {
  if (typeof body !== "object" || body === null) return false;
  return body instanceof Rows || Object.values<unknown>({ ...body }).some((value) => value instanceof Rows);
}

function* piecesOf(body: object): Generator<string> {
  if (body instanceof Rows) return yield* body.pieces();
  let before = "{";
  for (const [name, value] of Object.entries<unknown>({ ...body }).filter(([, one]) => one !== undefined)) {
    yield `${before}${JSON.stringify(name)}:`;
    if (value instanceof Rows) yield* value.pieces();
    else yield JSON.stringify(value);
    before = ",";
  }
  return yield "}";
}
