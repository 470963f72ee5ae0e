import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { isCleanlyStopped } from "./backup.ts";

/** Number of prepared transactions that any compute may have: the bound of its setting. */
export const mostPrepared = 1000;

/** The files of the prepared transactions in data whose server was stopped in order, or has just started. */
export async function preparedIn(data: string): Promise<string[]> {
  const directory = join(data, "pg_twophase");
  return (await readdir(directory)).map((name) => join(directory, name));
}

/** True if there may be prepared transactions: in files, or in the log of a server that did not end in order. */
export async function mayHavePrepared(data: string): Promise<boolean> {
  return (await preparedIn(data)).length > 0 || !(await isCleanlyStopped(data));
}

/** Has data whose server was stopped in order forget prepared transactions: Postgres then holds them for broken off. */
export async function forgetPrepared(data: string, ids: readonly string[]): Promise<void> {
  const endings = ids.map((id) => Number(id).toString(16).toUpperCase().padStart(8, "0"));
  for (const file of await preparedIn(data)) if (endings.some((ending) => file.endsWith(ending))) await rm(file);
}
