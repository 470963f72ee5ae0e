import { elapsed, type ServiceClock } from "../../clock.ts";
import { Held, ServerFailed } from "../host/failure.ts";
import { rollBackPreparedThat } from "./prepared.ts";
import { type Session, superuser } from "./privileged-role.ts";

type Connect = (database: string) => Promise<Session>;

/** Wait for what a client holds before its session is ended, and between two looks after that, in milliseconds. */
const patienceMs = 1000;
const lookAgainMs = 200;

/** Wait for the sessions that have to take note of a drop, before those whose clients read nothing are ended. */
const noteMs = 2000;
/** And before the statement is given up, as a session computes without a pause. */
const limitMs = 6000;

/** So many looks in a row find a checkpoint that waits for a page: an honest client has its lock for no time. */
const mostStuck = 15;

/**
 * Opens sessions that no client holds up for long, neither as they open nor with a statement. A look at the server goes
 * on while one of them waits, in a session of its own:
 *
 *   it waits for                          | so
 *   --------------------------------------|-------------------------------------------------------------
 *   a lock of a session                   | that is ended, or the worker of autovacuum with a client's function
 *   a lock of a prepared transaction      | that is rolled back
 *   sessions that take note of a drop     | those that wait for their clients are ended, and later it is given up
 *   a checkpoint that waits for a page    | it is given up: a client's function runs amid a change of an index
 *   a place among the connections         | it is tried again for a while
 *   room for its locks                    | it is given up at once
 *
 * Rejects with `Held` where that is not enough: a session that computes without a pause ends with its server alone.
 */
export function unheld(connect: Connect, clock: Pick<ServiceClock, "now" | "after">): Connect {
  const freed = <Result>(act: () => Promise<Result>) => withoutHolders(act, { connect, clock });
  return async (database) => {
    const session = await freed(() => withPlace(() => connect(database), clock));
    return {
      query: (sql) => freed(() => session.query(sql)),
      [Symbol.dispose]: () => session[Symbol.dispose](),
    };
  };
}

interface Ports {
  connect: Connect;
  clock: Pick<ServiceClock, "now" | "after">;
}

async function withoutHolders<Result>(act: () => Promise<Result>, { connect, clock }: Ports): Promise<Result> {
  let freeing = Promise.resolve();
  const ended = new AbortController();
  const free = async () => {
    const begunAt = clock.now();
    using server = await connect("postgres");
    for (let stuck = 0; !ended.signal.aborted; ) {
      await endHolders(server, connect, clock.now() - begunAt);
      stuck = (await server.query(stuckCheckpoint)).length > 0 ? stuck + 1 : 0;
      if (stuck >= mostStuck) await server.query(giveUp("wait_event IN ('CheckpointStart', 'CheckpointDone')"));
      await elapsed(clock, lookAgainMs);
    }
  };
  const stop = clock.after(patienceMs, () => {
    // The statement itself says why it fails.
    freeing = free().catch(() => {});
  });
  try {
    return await act();
  } catch (error) {
    throw isHeld(error) ? new Held(`${error.message}: ${advice}`, { cause: error }) : error;
  } finally {
    ended.abort();
    stop();
    await freeing;
  }
}

async function endHolders(server: Session, connect: Connect, waitedMs: number): Promise<void> {
  await server.query(`${holders} SELECT pg_terminate_backend(pid) FROM pg_stat_activity JOIN holder USING (pid)
    WHERE (${ofClient} OR backend_type = 'autovacuum worker') AND wait_event_type IS DISTINCT FROM 'Lock'`);
  await rollBackPreparedThat({ client: server, connect }, blocking);
  if (waitedMs < noteMs) return;
  const waits = "EXISTS (SELECT FROM pg_stat_activity WHERE wait_event = 'ProcSignalBarrier')";
  await server.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'ClientWrite' AND ${waits}`,
  );
  if (waitedMs < limitMs) return;
  await server.query(giveUp("wait_event = 'ProcSignalBarrier'"));
}

/** Opens a session as soon as there is a place for one: those that have just ended leave theirs a moment later. */
async function withPlace(open: () => Promise<Session>, clock: Ports["clock"]): Promise<Session> {
  const begunAt = clock.now();
  for (;;) {
    try {
      return await open();
    } catch (error) {
      if (codeOf(error) !== noPlace || clock.now() - begunAt >= limitMs) throw error;
    }
    await elapsed(clock, lookAgainMs);
  }
}

const giveUp = (waits: string) => `SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE ${waits}`;

const stuckCheckpoint =
  "SELECT FROM pg_stat_activity WHERE backend_type = 'checkpointer' AND wait_event = 'BufferContent'";

const ofClient = `usename <> '${superuser}'`;

/**
 * Sessions of the service that wait for a lock, with all that they wait for: one that opens has no name yet, and a
 * prepared transaction is process 0.
 */
const holders = `WITH RECURSIVE holder (pid) AS (
  SELECT pid FROM pg_locks WHERE NOT granted AND pid NOT IN (SELECT pid FROM pg_stat_activity WHERE ${ofClient})
  UNION SELECT unnest(pg_blocking_pids(pid)) FROM holder WHERE pid <> 0)`;

const object = (lock: string) =>
  `(${["locktype", "database", "relation", "page", "tuple", "transactionid", "classid", "objid", "objsubid"]
    .map((column) => `${lock}.${column}`)
    .join(", ")})`;

/** The prepared transactions among the holders: their locks have no process, and one of them is on itself. */
const blocking = `transaction IN (${holders} SELECT own.transactionid FROM pg_locks own
  JOIN pg_locks held USING (virtualtransaction)
  JOIN pg_locks wanted ON ${object("wanted")} IS NOT DISTINCT FROM ${object("held")}
  WHERE own.pid IS NULL AND held.pid IS NULL AND own.locktype = 'transactionid'
  AND NOT wanted.granted AND wanted.pid IN (SELECT pid FROM holder))`;

const advice = "a session of a client holds it up, and ends at the latest with a restart of its compute";

const noPlace = "53300";

/** SQLSTATE of a server whose locks are all taken: not even a superuser's session opens. */
const noRoom = "53200";

/** SQLSTATEs of what a client can bring about: a wait for a lock or a session that took too long, or was given up. */
const held = new Set(["40P01", "55006", "55P03", "57014", noPlace, noRoom]);

/** The words of Postgres for a row that a client changes in a loop: the SQLSTATE is that of any mistake of its own. */
const changed = /^tuple concurrently/;

function isHeld(error: unknown): error is ServerFailed {
  return held.has(codeOf(error) ?? "") || (error instanceof ServerFailed && changed.test(error.message));
}

function codeOf(error: unknown): string | undefined {
  const cause = error instanceof ServerFailed ? error.cause : undefined;
  return cause instanceof Error && "code" in cause ? String(cause.code) : undefined;
}
