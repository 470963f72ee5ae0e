import { elapsed, type ServiceClock } from "../../clock.ts";
import { ServerFailed } from "../host/failure.ts";
import type { Session } from "../session/privileged-role.ts";
import { literal } from "../session/quoting.ts";

/** Wait before a replica is asked again, in milliseconds. */
export const askAgainMs = 50;

/** Longest wait for a replica that gets no further, in milliseconds. */
const standstillMs = 30_000;

/** The end of a primary's log. */
export async function endOfLog(primary: Session): Promise<string> {
  const [row] = await primary.query("SELECT pg_current_wal_insert_lsn()");
  return row?.[0] ?? "0/0";
}

/** The place of a replica that has not come to a position of its primary's log; `undefined` where it has. */
export async function placeBefore(position: string, replica: Session): Promise<string | undefined> {
  const [row] = await replica.query(`SELECT coalesce(pg_last_wal_replay_lsn(), '0/0')
    WHERE coalesce(pg_last_wal_replay_lsn(), '0/0') < ${literal(position)}::pg_lsn`);
  return row && (row[0] ?? "");
}

/** Waits for a replica to come to a position. Rejects with `ServerFailed` where it gets no further. */
export async function caughtUp(position: string, replica: Session, clock: Pick<ServiceClock, "after" | "now">) {
  let [reached, at]: [string | undefined, number] = [undefined, clock.now()];
  for (;;) {
    const place = await placeBefore(position, replica);
    if (place === undefined) return;
    if (place !== reached) [reached, at] = [place, clock.now()];
    if (clock.now() - at > standstillMs) throw new ServerFailed("the replica gets no further in its primary's log");
    await elapsed(clock, askAgainMs);
  }
}
