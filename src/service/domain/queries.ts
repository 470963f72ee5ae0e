import { Refusal } from "../refusal.ts";

/** A statement that a person runs in a database, as one of its roles. */
export interface Query {
  /** The account that asks; each has few at a time. */
  accountId: string;
  endpointId: string;
  database: string;
  role: { name: string; password: string };
  sql: string;
  /** True if the statement may change something. */
  writes: boolean;
  /** Aborts when the person has the answer, or has left. */
  gone: AbortSignal | undefined;
}

/** The answer to a statement. */
export interface QueryAnswer {
  columns: readonly string[];
  /** At most `mostRows`, and `mostValues` of them. */
  rows: readonly (readonly (string | null)[])[];
  /** True if there are further rows. */
  more: boolean;
  /** As Postgres sends it, such as `INSERT 0 1`; empty where there are more rows. */
  tag: string;
}

/** The most rows of an answer. */
export const mostRows = 200;

/** The most values of an answer: of rows with many columns fewer are shown. */
export const mostValues = 20_000;

/** A statement failed or took too long. */
export class StatementFailed extends Refusal {
  /** True if it was allowed to change something: what it had committed before stays. */
  readonly writes: boolean;

  constructor(message: string, writes: boolean) {
    super(422, message);
    this.writes = writes;
  }
}

/** Longest time for a statement, in milliseconds; the compute's start is not part of it. */
export const queryLimitMs = 10_000;

/** The way to the databases of computes; exists only with real servers behind them. */
export interface QueryAccess {
  /** Runs one statement in a session of its own. Rejects with `Refusal`. */
  run(query: Query): Promise<QueryAnswer>;
}
