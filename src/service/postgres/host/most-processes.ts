import { join } from "node:path";
import { systemText } from "../../sharing/most-connections.ts";

/** Part of servers and their clients: the rest is for the service, and for what it runs for a while. */
const part = 3 / 4;

/**
 * The most processes of all servers and their clients together, threads counted as the system does: any number where
 * the system sets no limit. The reader answers nothing for a file that is not there.
 */
export function mostProcesses(textOf = systemText): number {
  const [, ofUser = ""] = /^Max processes +(\d+) /m.exec(textOf("/proc/self/limits")) ?? [];
  const limits = [ofUser, ...limitFiles(textOf("/proc/self/cgroup")).map(textOf)];
  const numbers = limits.filter((text) => /^\d/.test(text)).map(Number);
  return Math.floor(part * Math.min(...numbers));
}

/** Limit files of the groups of a process, in either version of groups: a container sees its own group as the root. */
function limitFiles(groups: string): string[] {
  const found = [...groups.matchAll(/^\d+:(pids|):(.*)$/gm)];
  return found.flatMap(([, kind = "", path = ""]) =>
    ["", path].map((below) => join("/sys/fs/cgroup", kind, below, "pids.max")),
  );
}
