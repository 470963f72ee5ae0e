import { groupLimits, systemText } from "../../system-limits.ts";

/** Part of servers and their clients: the rest is for the service, and for what it runs for a while. */
const part = 3 / 4;

/**
 * The most processes of all servers and their clients together, threads counted as the system does: any number where
 * the system sets no limit. The reader answers nothing for a file that is not there.
 */
export function mostProcesses(textOf = systemText): number {
  const [, ofUser] = /^Max processes +(\d+) /m.exec(textOf("/proc/self/limits")) ?? [];
  const own = ofUser === undefined ? [] : [Number(ofUser)];
  return Math.floor(part * Math.min(...own, ...groupLimits("pids", "pids.max", "pids.max", textOf)));
}
