import { lstat, opendir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";

/** Files that are dealt with together. */
const together = 32;

/**
 * Calls `act` for each file below a directory, a few at a time: a client may make hundreds of thousands with SQL, and
 * to ask the system for all of them takes a turn of the loop, and the threads of everybody. A directory that has
 * vanished by then has none. Leaves the others where `ends` says that there is no time.
 */
export async function eachFile(
  directory: string,
  act: (file: string) => Promise<unknown>,
  ends = () => false,
): Promise<void> {
  const entries = await opendir(directory).catch(unlessGone);
  if (!entries) return;
  const [files, directories]: [string[], string[]] = [[], []];
  const dealWith = () => Promise.all(files.splice(0).map(act));
  for await (const entry of entries) {
    (entry.isDirectory() ? directories : files).push(join(directory, entry.name));
    if (files.length === together) await dealWith();
    if (ends()) return;
  }
  await dealWith();
  for (const one of directories) await eachFile(one, act, ends);
}

/** The bytes of the files in a directory: nothing for what a running server removes meanwhile, directories too. */
export async function sizeOf(directory: string): Promise<number> {
  let bytes = 0;
  await eachFile(directory, async (file) => {
    const size = await lstat(file).then(
      (found) => found.size,
      () => 0,
    );
    bytes += size;
  });
  return bytes;
}

/**
 * Removes a directory with all that is in it, or a file or link alone; nothing where there is none, and a part where
 * `ends` says that there is no time.
 */
export async function removeTree(path: string, ends = () => false): Promise<void> {
  const found = await lstat(path).catch(unlessGone);
  if (found?.isDirectory() === true) await eachFile(path, (file) => rm(file, { force: true }), ends);
  if (!ends()) await rm(path, { recursive: true, force: true });
}

/** The names in a directory; none where there is no directory. */
export async function namesIn(directory: string): Promise<string[]> {
  return (await readdir(directory).catch(unlessGone)) ?? [];
}

/** Passes over the error of a file that is not there. */
export function unlessGone(error: unknown): undefined {
  if (!(error instanceof Error && "code" in error && error.code === "ENOENT")) throw error;
}
