import { open, rm } from "node:fs/promises";
import { isCleanlyStopped } from "../data/backup.ts";
import { mostPrepared, preparedIn } from "../data/prepared-files.ts";
import type { ServerConfig } from "./config.ts";
import type { PostgresServer } from "./server.ts";

/**
 * Starts a primary whose prepared transactions leave a quarter of its locks to sessions, and all catalogues: otherwise
 * no session opens, not even one that could end them, at this start and each later one. Beyond that, those with the
 * most locks are forgotten: Postgres holds them for broken off. What a server has in its log alone is in files once it
 * has started.
 */
export async function startWithLocksLeft(
  data: string,
  { limits, primary }: Pick<ServerConfig, "limits" | "primary">,
  start: () => Promise<PostgresServer>,
): Promise<PostgresServer> {
  const most = 0.75 * limits.maxLocks * (limits.maxConnections + limits.maxWorkerProcesses + mostPrepared);
  const excess = async () => (primary ? [] : excessOf(await preparedIn(data), most));
  const forget = async () => {
    for (const file of await excess()) await rm(file);
  };
  if (await isCleanlyStopped(data)) {
    await forget();
    return start();
  }
  const server = await start();
  try {
    if ((await excess()).length === 0) return server;
  } catch (error) {
    await server.stop();
    throw error;
  }
  await server.stop();
  await forget();
  return start();
}

/** The largest of prepared transactions, without which the others have no more locks than these. */
async function excessOf(files: readonly string[], most: number): Promise<string[]> {
  const counted: { file: string; locks: number }[] = [];
  const buffer = Buffer.alloc(65_536);
  // One after another: they may be a thousand, and the files that the process may open are everybody's.
  for (const file of files) counted.push({ file, locks: await locksIn(file, buffer) });
  let left = counted.reduce((sum, { locks }) => sum + locks, 0);
  return counted
    .toSorted((one, other) => other.locks - one.locks)
    .filter(({ locks }) => {
      const isBeyond = left > most;
      if (isBeyond) left -= locks;
      return isBeyond;
    })
    .map(({ file }) => file);
}

/** A lock in the file of a prepared transaction: a header of 8 bytes, which says length, kind and nothing more. */
const bytesOfLock = 28;
const isLock = (bytes: Buffer, at: number) =>
  bytes.readUInt32LE(at) === 20 && bytes[at + 4] === 1 && bytes.readUInt16LE(at + 6) === 0;

/** A lock on a catalogue, as by `LOCK TABLE` of a view: no session opens beside it. It counts as more than all. */
const onCatalogue = 1e9;
const accessExclusive = 8;
const [firstOfClients, subscriptions] = [16_384, 6100];

/** The weight of the lock at a place. `DROP SUBSCRIPTION` locks a catalogue too, which no session needs to open. */
function weightOf(bytes: Buffer, at: number): number {
  const [relation, kind, mode] = [bytes.readUInt32LE(at + 12), bytes[at + 22], bytes.readInt32LE(at + 24)];
  const isOnCatalogue = kind === 0 && relation < firstOfClients && relation !== subscriptions;
  return isOnCatalogue && mode === accessExclusive ? onCatalogue : 1;
}

async function locksIn(file: string, buffer: Buffer): Promise<number> {
  const handle = await open(file);
  try {
    let locks = 0;
    for (let position = 0; ; ) {
      const { bytesRead } = await handle.read(buffer, 0, buffer.length, position);
      let at = 0;
      for (; at + bytesOfLock <= bytesRead; at += 8) if (isLock(buffer, at)) locks += weightOf(buffer, at);
      if (at === 0) return locks;
      position += at;
    }
  } finally {
    await handle.close();
  }
}
