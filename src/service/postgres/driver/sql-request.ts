import { z } from "zod";
import { Rejection } from "../proxy/rejection.ts";
import { type Routed, route } from "../proxy/route.ts";
import { jsonOf, parameterText } from "./parameters.ts";

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
  refuseToken(headers);
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
    statements: statements.map(({ query, params }) => ({ sql: query, values: params.map(parameterText) })),
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
