import { limited, type ServiceClock, within } from "../../clock.ts";
import {
  mostRows,
  mostValues,
  type Query,
  type QueryAccess,
  type QueryAnswer,
  queryLimitMs,
  StatementFailed,
} from "../../domain/queries.ts";
import { refusals } from "../../refusal.ts";
import { Uses } from "../../sharing/uses.ts";
import { ServerFailed } from "../host/failure.ts";
import type { Admission } from "../proxy/admission.ts";
import type { Target } from "../proxy/route.ts";
import { noSession, Rejection } from "../session/rejection.ts";
import type { SqlClient, StatementResult } from "../session/sql-client.ts";
import { inSession, openClientSession } from "./client-session.ts";

/** The most statements of an account at one time, until their answers are taken: each may be a page of megabytes. */
const mostAtOnce = 4;

/** The largest answer, in bytes. */
const longestAnswer = 1024 ** 2;

/** Time after the end of the limit in which a server may end the statement itself, in milliseconds. */
const graceMs = 2000;

/** Statements of the console: each logs in as a client of the compute, under the rights and limits of one. */
export class Queries implements QueryAccess {
  readonly #clock: ServiceClock;
  readonly #admit: (target: Target) => Promise<Admission>;
  readonly #running = new Uses();

  constructor(clock: ServiceClock, admit: (target: Target) => Promise<Admission>) {
    this.#clock = clock;
    this.#admit = admit;
  }

  async run(query: Query): Promise<QueryAnswer> {
    const { accountId, gone } = query;
    if (this.#running.count(accountId) >= mostAtOnce)
      throw refusals.tooManyRequests(`${mostAtOnce} statements of yours are running: wait for one`, 1);
    const forget = this.#running.begin(accountId);
    try {
      return await this.#answer(query);
    } catch (error) {
      if (!(error instanceof Rejection || error instanceof ServerFailed)) throw error;
      throw new StatementFailed(error.message, query.writes);
    } finally {
      if (gone?.aborted === false) gone.addEventListener("abort", forget, { once: true });
      else forget();
    }
  }

  async #answer(query: Query): Promise<QueryAnswer> {
    const { endpointId, database, role, writes, gone } = query;
    const admission = await this.#admit({ endpointId, pooled: false });
    const parameters = {
      application_name: "compute-console",
      default_transaction_read_only: writes ? "off" : "on",
      statement_timeout: String(queryLimitMs),
    };
    const login = { user: role.name, password: role.password, database, parameters };
    const opened = openClientSession(admission, login, longestAnswer);
    const client = await within(this.#clock, queryLimitMs, opened);
    if (!client) {
      void opened.then(
        (begun) => begun.close(),
        () => {},
      );
      throw new ServerFailed(noSession(database));
    }
    const late = Promise.withResolvers<never>();
    const giveUp = async () => {
      await end(client, admission);
      late.reject(new ServerFailed(tooLong));
    };
    const answered = inSession(client, admission, gone, () => Promise.race([answerOf(client, query), late.promise]));
    return limited(this.#clock, queryLimitMs + graceMs, () => void giveUp(), answered);
  }
}

async function answerOf(client: SqlClient, { sql, writes, gone }: Query): Promise<QueryAnswer> {
  if (gone?.aborted) throw refusals.unavailable("the person has left");
  // A statement that commits cannot begin a transaction that writes within one that only reads.
  if (!writes) await client.query("BEGIN READ ONLY");
  return shown(await client.execute(sql, [], undefined, mostRows + 1));
}

const tooLong = "the statement took too long";

/**
 * Ends a statement that goes on after its limit: it can catch a time limit's error, but not the end of its process. One
 * that computes without a pause ends later, and counts until then.
 */
async function end(client: SqlClient, admission: Admission): Promise<void> {
  const { processId } = client;
  client.giveUp(tooLong);
  if (processId !== undefined) await admission.end(processId).catch(() => {});
}

function shown({ fields, rows, tag }: StatementResult): QueryAnswer {
  const most = Math.min(mostRows, Math.max(1, Math.floor(mostValues / fields.length)));
  return { columns: fields.map(({ name }) => name), rows: rows.slice(0, most), more: rows.length > most, tag };
}
