import type { HistoryPoint } from "../../domain/history-point.ts";
import type { CopiedLog } from "../data/backup.ts";
import type { CopiedPoint } from "../data/point.ts";
import type { Base } from "../history/branch-history.ts";
import type { Recovered } from "../history/recovery.ts";

/** The source of a copy, and the ways to make one. */
export interface CopyWays {
  /** The time of the newest end of a transaction in the log of the source that was written since a time. */
  newestEnd: (since: number) => Promise<number>;
  /** Answers `undefined` where the history of the source begins later. */
  baseFor: (point: HistoryPoint) => Promise<Base | undefined>;
  /** Copies what is there when the copy ends. Answers the log that the copy of a running server has. */
  copy: () => Promise<CopiedLog | undefined>;
  /** Makes a state of the past; answers `undefined`, and makes nothing, where that is the present. */
  recover: (point: HistoryPoint) => Promise<Recovered | undefined>;
  /** Removes what was copied. */
  remove: () => Promise<void>;
  /** By the clock of servers. */
  now: () => number;
}

/**
 * Makes the state that a copy shows. The state at its call is that which the source has when it is copied, unless a
 * client has written since: then it is recovered, as one of the past is.
 *
 *   the newest transaction of the source ended | the copy shows
 *   -------------------------------------------|------------------------------------------------------------
 *   before the call                            | what is there
 *   after it                                   | what was there at the call
 *   after it, and no history reaches back to it | what is there: the source itself had no data at the call
 *   later than now                             | what is there: a clock that was set back tells no times apart
 */
export async function makeState(
  point: CopiedPoint | undefined,
  { newestEnd, baseFor, copy, recover, remove, now }: CopyWays,
): Promise<{ log?: CopiedLog | undefined; recovered?: Recovered | undefined }> {
  const past = async (): Promise<HistoryPoint | undefined> => {
    if (point?.kind !== "call") return point;
    // Transactions that were answered in the millisecond of the call came before it.
    const at = point.at + 1;
    const newest = await newestEnd(at);
    if (newest <= at || newest > now() + 1 || !(await baseFor({ kind: "time", at }))) return undefined;
    return { kind: "time", at };
  };
  let shown = await past();
  if (!shown) {
    const log = await copy();
    shown = await past();
    if (!shown) return { log };
    await remove();
  }
  const recovered = await recover(shown);
  return recovered ? { recovered } : { log: await copy() };
}
