import { z } from "zod";
import { Rejection } from "../proxy/rejection.ts";
import { type Routed, route } from "../proxy/route.ts";

/** One statement with its parameters as text. */
export interface SqlStatement {
  sql: string;
  values: readonly (string | null)[];
}

/** A request of `POST /sql`: the vendor's serverless driver sends it. */
export interface SqlRequest {
  routed: Routed;
  user: string;
  password: string;
  database: string;
  statements: readonly SqlStatement[];
  /** The statement that begins the transaction of a batch; `undefined` for a single statement. */
  begin: string | undefined;
  /** True if a row is an array instead of an object. */
  arrayMode: boolean;
}

const Statement = z.object({ query: z.string(), params: z.array(z.unknown()).default([]) });
const Body = z.union([z.object({ queries: z.array(Statement) }), Statement]);

const isolationLevels = new Map([
  ["ReadUncommitted", "READ UNCOMMITTED"],
  ["ReadCommitted", "READ COMMITTED"],
  ["RepeatableRead", "REPEATABLE READ"],
  ["Serializable", "SERIALIZABLE"],
]);

/** Reads headers, whose names are in lower case, and body. Throws `Rejection`. */
export function readSqlRequest(headers: Readonly<Record<string, string>>, body: string): SqlRequest {
  const uri = URL.parse(headers["neon-connection-string"] ?? "");
  if (uri === null || !/^postgres(ql)?:$/.test(uri.protocol)) {
    throw invalid("the header Neon-Connection-String must be a connection URI of Postgres");
  }
  const parsed = Body.safeParse(jsonOf(body));
  if (!parsed.success) throw invalid("the body must be {query, params} or {queries: [{query, params}, …]}");
  const batch = "queries" in parsed.data;
  const statements = "queries" in parsed.data ? parsed.data.queries : [parsed.data];
  const user = textOf(uri.username);
  const database = textOf(uri.pathname.slice(1)) || user;
  const given = (name: string) => {
    const value = uri.searchParams.get(name);
    return value === null ? [] : [[name, value] as const];
  };
  const parameters = new Map([
    ["user", user],
    ["database", database],
    ...given("options"),
    ...given("application_name"),
  ]);
  return {
    routed: route(parameters, uri.hostname),
    user,
    password: textOf(uri.password),
    database,
    statements: statements.map(({ query, params }) => ({ sql: query, values: params.map(asText) })),
    begin: batch ? beginOf(headers) : undefined,
    arrayMode: headers["neon-array-mode"] === "true",
  };
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

function asText(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  return typeof value === "string" ? value : JSON.stringify(value);
}

function textOf(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw invalid("the header Neon-Connection-String has a percent sign that is not followed by two digits");
  }
}

function jsonOf(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

function invalid(message: string): Rejection {
  return new Rejection("08P01", message);
}
