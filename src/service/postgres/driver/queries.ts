import { limited, type ServiceClock } from "../../clock.ts";
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
import { Rejection } from "../session/rejection.ts";
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

  async #answer({ endpointId, database, role, sql, writes, gone }: Query): Promise<QueryAnswer> {
    const admission = await this.#admit({ endpointId, pooled: false });
    const parameters = {
      application_name: "compute-console",
      default_transaction_read_only: writes ? "off" : "on",
      statement_timeout: String(queryLimitMs),
    };
    const late = new AbortController();
    const login = { user: role.name, password: role.password, database, parameters, late: late.signal };
    const opened = openClientSession(admission, login, longestAnswer);
    const client = await limited(this.#clock, queryLimitMs, () => late.abort(), opened);
    const answered = inSession(client, admission, gone, async () => {
      if (gone?.aborted) throw refusals.unavailable("the person has left");
      // A statement that commits cannot begin a transaction that writes within one that only reads.
      if (!writes) await client.query("BEGIN READ ONLY");
      return shown(await client.execute(sql, [], undefined, mostRows + 1));
    });
    return limited(this.#clock, queryLimitMs + graceMs, () => end(client, admission), answered);
  }
}

/** Ends a statement that goes on after its limit: it can catch a time limit's error, but not the end of its process. */
function end(client: SqlClient, admission: Admission): void {
  const { processId } = client;
  const reason = "the statement took too long";
  client.giveUp(reason);
  const done = processId === undefined ? undefined : admission.end(processId).catch(() => {});
  void Promise.resolve(done).then(() => client.destroy(reason));
}

function shown({ fields, rows, tag }: StatementResult): QueryAnswer {
  const most = Math.min(mostRows, Math.max(1, Math.floor(mostValues / fields.length)));
  return { columns: fields.map(({ name }) => name), rows: rows.slice(0, most), more: rows.length > most, tag };
}
