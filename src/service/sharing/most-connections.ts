import { existsSync, readFileSync } from "node:fs";

const limitsFile = "/proc/self/limits";

/**
 * The most connections of a listener, for all clients together: `most`, or a part of the files that the process may
 * open, where these are few. The rest is for the servers' sockets, the store and the files of Postgres.
 */
export function mostConnections(most: number, part: number, limits = limitsOfProcess()): number {
  const [, files] = /^Max open files +(\d+) /m.exec(limits) ?? [];
  return files === undefined ? most : Math.min(most, Math.floor(part * Number(files)));
}

/** The limits as Linux shows them; nothing elsewhere. */
function limitsOfProcess(): string {
  return existsSync(limitsFile) ? readFileSync(limitsFile, "utf8") : "";
}
