import { DatabaseError } from "pg-protocol/dist/messages.js";
import { jsonReply, type ServiceReply } from "../../http/message.ts";
import type { SqlCall } from "../../http/sql-access.ts";
import type { Holding } from "../../sharing/shares.ts";
import { ServerFailed } from "../host/failure.ts";
import type { Admission } from "../proxy/admission.ts";
import { keyOf } from "../proxy/login.ts";
import type { Target } from "../proxy/route.ts";
import { asFullDisk } from "../server/temporary-disk.ts";
import { Rejection } from "../session/rejection.ts";
import { AnswerTooLarge, type SqlClient, type StatementResult } from "../session/sql-client.ts";
import { AnswerRows, AnswerText } from "./answer-text.ts";
import { inSession, openClientSession } from "./client-session.ts";
import {
  longestSqlBody,
  readSqlLogin,
  readSqlStatements,
  type SqlLogin,
  type SqlStatements,
  sqlLimits,
} from "./sql-request.ts";

/**
 * Answers `POST /sql`, which the vendor's serverless driver sends. The headers say who asks: the body of a client that
 * has not logged in is not read. Rejects with `Refusal` where the body is not.
 */
export async function sqlOverHttp(call: SqlCall, admit: (target: Target) => Promise<Admission>): Promise<ServiceReply> {
  try {
    const login = readSqlLogin(call.headers);
    const admission = await admit({ ...login.routed.target, from: call.from });
    const pieces = await answerTo(call, login, admission);
    return { status: 200, headers: { "content-type": "application/json; charset=utf-8" }, pieces };
  } catch (error) {
    return refused(error);
  }
}

async function answerTo(call: SqlCall, login: SqlLogin, admission: Admission): Promise<readonly Buffer[]> {
  const { user, password, database, routed } = login;
  const parameters = Object.fromEntries(routed.parameters);
  const clientKey = await proven(login, admission, call.gone);
  const client = await openClientSession(
    admission,
    { user, password, clientKey, database, parameters },
    longestSqlBody,
  );
  return inSession(client, admission, call.gone, async () => {
    const holding = call.hold(routed.target.endpointId);
    const body = await call.body({ holding, longest: longestSqlBody, limits: sqlLimits });
    return results(readSqlStatements(body), login, client, holding);
  });
}

/** Proves the password before the server sees it: a stranger gets no session, not even one that waits. */
async function proven({ user, password }: SqlLogin, admission: Admission, gone: AbortSignal): Promise<Buffer> {
  try {
    return await keyOf({ password, role: user, isGone: () => gone.aborted }, admission);
  } catch (error) {
    admission.leave();
    throw error;
  }
}

async function results(
  { statements, batch }: SqlStatements,
  { begin, form }: SqlLogin,
  client: SqlClient,
  holding: Holding,
): Promise<readonly Buffer[]> {
  const text = new AnswerText(holding, longestSqlBody);
  // A batch that fails is rolled back by the end of its connection.
  if (batch) await client.query(begin);
  text.add(batch ? '{"results":[' : "");
  for (const [index, { sql, values, arrayMode = form.arrayMode }] of statements.entries()) {
    text.add(`${index === 0 ? "" : ","}{"rows":[`);
    const rows = new AnswerRows(text, { ...form, arrayMode });
    const result = await client.execute(sql, values, rows);
    text.add(`],${described(result, arrayMode)}`);
    await text.room();
    if (text.refused) throw text.refused;
  }
  if (batch) await client.query("COMMIT");
  text.add(batch ? "]}" : "");
  return text.end();
}

/** A result without rows and first brace, as node-postgres shows it; values stay text, which the driver converts. */
function described({ fields, tag }: StatementResult, arrayMode: boolean): string {
  const words = tag.split(" ");
  // JSON has null for what is no number.
  const count = Number.parseInt(words.at(-1) ?? "", 10);
  return JSON.stringify({ fields, command: words[0] ?? "", rowCount: count, rowAsArray: arrayMode }).slice(1);
}

/** The longest text of an error that is shown, in characters: a client may raise one of a gigabyte. */
const longestText = 65_536;

function cut(field: unknown): unknown {
  return typeof field === "string" && field.length > longestText
    ? `${field.slice(0, longestText).toWellFormed()}…`
    : field;
}

const withoutLimit = "ask for less, or take a session (psql, the driver's Client or Pool), whose answers have no limit";

function refused(error: unknown): ServiceReply {
  if (error instanceof AnswerTooLarge) return jsonReply(507, { message: `${error.message}: ${withoutLimit}` });
  if (error instanceof Rejection) {
    return jsonReply(400, { message: error.message, code: error.sqlState, severity: "FATAL" });
  }
  if (!(error instanceof ServerFailed)) throw error;
  const { cause } = error;
  if (!(cause instanceof DatabaseError)) return jsonReply(502, { message: error.message });
  const { length: _length, name: _name, ...fields } = cause;
  const { code, message } = cause;
  const all = Object.entries({ ...fields, message, ...asFullDisk({ code, message }) });
  return jsonReply(400, Object.fromEntries(all.map(([name, field]) => [name, cut(field)])));
}
