import { z } from "zod";
import { isRecord } from "../../../api/loose.ts";
import type { JsonLimits } from "../../http/json-size.ts";
import { type Routed, route } from "../proxy/route.ts";
import { Rejection } from "../session/rejection.ts";
import type { AnswerForm } from "./answer-text.ts";
import { jsonOf, parameterText } from "./parameters.ts";

/** The largest body of a request and of an answer, in bytes: the vendor's limit. */
export const longestSqlBody = 64 * 1024 ** 2;

/** One statement with its parameters as text. */
export interface SqlStatement {
  sql: string;
  values: readonly (string | null)[];
  /** As in `AnswerForm`, where the statement says so itself. */
  arrayMode: boolean | undefined;
}

/** The headers of `POST /sql`, which the vendor's serverless driver sends: who asks, and how. */
export interface SqlLogin {
  routed: Routed;
  user: string;
  password: string;
  database: string;
  /** The statement that begins the transaction of a batch. */
  begin: string;
  form: AnswerForm;
}

/** The body of `POST /sql`. */
export interface SqlStatements {
  statements: readonly SqlStatement[];
  /** True if they run as one transaction. */
  batch: boolean;
}

/** The most parameters of one statement: Postgres's own limit. */
const mostParameters = 65_535;

/** The most statements of a batch. */
const mostStatements = 10_000;

/** The most that a body may have. */
export const sqlLimits: JsonLimits = {
  depth: 64,
  width: mostParameters,
  values: 200_000,
  string: longestSqlBody,
  escapes: 4_000_000,
  names: 8_000_000,
};

const Statement = z.object({
  query: z.string(),
  params: z.array(z.unknown()).default([]),
  arrayMode: z.boolean().nullish(),
});

const isolationLevels = new Map([
  ["ReadUncommitted", "READ UNCOMMITTED"],
  ["ReadCommitted", "READ COMMITTED"],
  ["RepeatableRead", "REPEATABLE READ"],
  ["Serializable", "SERIALIZABLE"],
]);

/** Reads headers, whose names are in lower case. Throws `Rejection`. */
export function readSqlLogin(headers: Readonly<Record<string, string>>): SqlLogin {
  refuseToken(headers);
  const given = headers["neon-connection-string"] ?? "";
  const uri = URL.parse(given);
  if (uri === null || !/^postgres(ql)?:$/.test(uri.protocol)) {
    throw invalid("the header Neon-Connection-String must be a connection URI of Postgres");
  }
  const user = textOf(uri.username);
  // A parsed path is shortened: a database with the name `..` would become another one.
  const [, path = ""] = /^[^/?#]*\/\/[^/?#]*\/([^?#]*)/.exec(given) ?? [];
  const database = textOf(path) || user;
  const parameter = (name: string) => {
    const value = uri.searchParams.get(name);
    return value === null ? [] : [[name, value] as const];
  };
  const parameters = new Map([
    ["user", user],
    ["database", database],
    ...parameter("options"),
    ...parameter("application_name"),
  ]);
  const routed = route(parameters, uri.hostname);
  return {
    routed,
    user: routed.parameters.get("user") ?? user,
    password: textOf(uri.password),
    database,
    begin: beginOf(headers),
    form: {
      arrayMode: headers["neon-array-mode"] === "true",
      rawText: headers["neon-raw-text-output"] === "true",
    },
  };
}

/** Reads a body that keeps `sqlLimits`: one statement, or a batch. Throws `Rejection`. */
export function readSqlStatements(body: string): SqlStatements {
  const value = jsonOf(body);
  const queries = isRecord(value) ? value["queries"] : undefined;
  const batch = Array.isArray(queries);
  const given: readonly unknown[] = batch ? queries : [value];
  if (given.length > mostStatements) throw invalid(`a batch has at most ${mostStatements} statements`);
  const statements: SqlStatement[] = [];
  for (const each of given) {
    // One problem is enough: the first statement that is none ends the reading.
    const parsed = Statement.safeParse(each);
    if (!parsed.success)
      throw invalid("the body must be {query, params, arrayMode} or {queries: [{query, params, arrayMode}, …]}");
    const { query, params, arrayMode } = parsed.data;
    const values = params.map(parameterText);
    if (![query, ...values].every(isKept)) throw new Rejection("22021", "a text has U+0000 or half of a pair");
    statements.push({ sql: query, values, arrayMode: arrayMode ?? undefined });
  }
  return { statements, batch };
}

/** False for a text that Postgres cannot keep: it would become another one on its way. */
function isKept(text: string | null): boolean {
  return text === null || (text.isWellFormed() && !text.includes("\0"));
}

function beginOf(headers: Readonly<Record<string, string>>): string {
  const level = headers["neon-batch-isolation-level"];
  const sqlLevel = level === undefined ? undefined : isolationLevels.get(level);
  if (level !== undefined && sqlLevel === undefined) {
    throw invalid(`the header Neon-Batch-Isolation-Level must be one of ${[...isolationLevels.keys()].join(", ")}`);
  }
  const parts = [
    ...(sqlLevel === undefined ? [] : [`ISOLATION LEVEL ${sqlLevel}`]),
    ...(headers["neon-batch-read-only"] === "true" ? ["READ ONLY"] : []),
    ...(headers["neon-batch-deferrable"] === "true" ? ["DEFERRABLE"] : []),
  ];
  return ["BEGIN", ...parts].join(" ");
}

/** The vendor runs the statement as the role of the token; as the URI's role it could pass the policies on trial. */
function refuseToken({ authorization }: Readonly<Record<string, string>>): void {
  if (authorization === undefined) return;
  throw new Rejection(
    "28000",
    "the service verifies no tokens: the header Authorization (authToken of the driver) would have no effect, and the statement would run as the role of the URI. Leave it out, and connect as the role whose rights and policies are to apply",
  );
}

function textOf(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw invalid("the header Neon-Connection-String has a percent sign that is not followed by two digits");
  }
}

function invalid(message: string): Rejection {
  return new Rejection("08P01", message);
}
