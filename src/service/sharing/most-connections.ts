import { mostMemory, ofMemory, systemText } from "../system-limits.ts";

/** Memory that the connection of a stranger takes at most, with TLS and all headers, in bytes. */
const bytesOfOne = 80_000;

/**
 * The most connections of a listener, for all clients together: `most`, or a part of the files that the process may
 * open, or as many as an eighth of its memory holds, where there is little. The rest of the files is for the servers'
 * sockets, the store and the files of Postgres.
 */
export function mostConnections(most: number, part: number, textOf = systemText): number {
  const [, files] = /^Max open files +(\d+) /m.exec(textOf("/proc/self/limits")) ?? [];
  const inMemory = ofMemory(most, bytesOfOne, mostMemory(textOf));
  return files === undefined ? inMemory : Math.min(inMemory, Math.floor(part * Number(files)));
}
