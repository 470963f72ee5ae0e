import { existsSync, readFileSync } from "node:fs";

/**
 * The most connections of a listener, for all clients together: `most`, or a part of the files that the process may
 * open, where these are few. The rest is for the servers' sockets, the store and the files of Postgres.
 */
export function mostConnections(most: number, part: number, limits = systemText("/proc/self/limits")): number {
  const [, files] = /^Max open files +(\d+) /m.exec(limits) ?? [];
  return files === undefined ? most : Math.min(most, Math.floor(part * Number(files)));
}

/** A file in which Linux says what a process may have; nothing where it is not there, as elsewhere. */
export function systemText(file: string): string {
  return existsSync(file) ? readFileSync(file, "utf8") : "";
}
