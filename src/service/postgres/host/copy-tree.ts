import { open, opendir, readlink, rename, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Slots } from "../../sharing/slots.ts";
import { copyFilesInThread } from "./copy-files.ts";
import { unlessGone } from "./each-file.ts";
import { makeDirectory } from "./private-file.ts";
import type { ProcessUser } from "./processes.ts";

export interface CopySettings {
  /** Whom the copy belongs to, where not to this process. */
  owner: ProcessUser | undefined;
  /** Paths below the source, with `/`, that are left out. A directory is left out with all it holds. */
  skip?: (path: string) => boolean;
  /** Files share their content with the source, where both are on one disk: for what is never written. */
  hardLinks?: boolean;
  /** Of directories; 0700 where it is left out. */
  mode?: number;
  /** Aborts when nobody needs the copy any more, which is left as it is: `copyTree` rejects with the reason. */
  ends?: AbortSignal | undefined;
}

/** Copies that have a thread for their files at once. */
const threads = new Slots(16);

/** Files that one thread copies: a client may make hundreds of thousands, and to hand all of them over is a turn. */
const together = 10_000;

/**
 * Copies a directory, and resolves when the copy is on disk. What vanishes from the source meanwhile is left out: a
 * running server removes files, and its write-ahead log knows of it.
 */
export async function copyTree(from: string, to: string, settings: CopySettings): Promise<void> {
  const files: string[] = [];
  const directories: string[] = [];
  await makeDirectories("", from, to, settings, { files, directories });
  const { owner, hardLinks = false, ends } = settings;
  for (let at = 0; at < files.length; at += together) {
    const some = files.slice(at, at + together);
    await threads.take(async () => {
      ends?.throwIfAborted();
      await copyFilesInThread({ from, to, files: some, owner, hardLinks }, ends);
    });
  }
  ends?.throwIfAborted();
  for (const directory of directories) await sync(join(to, directory));
}

async function makeDirectories(
  path: string,
  from: string,
  to: string,
  settings: CopySettings,
  found: { files: string[]; directories: string[] },
): Promise<void> {
  // Not all entries at once: each becomes an object in one turn of the loop.
  const entries = await opendir(join(from, path)).catch(unlessGone);
  // Closed by its loop otherwise. Node disposes of it only from 24.1 on, and until 24.3 refuses where it is closed.
  await makeDirectory(join(to, path), settings.owner, settings.mode).catch(async (error: unknown) => {
    await entries?.close();
    throw error;
  });
  found.directories.push(path);
  for await (const entry of entries ?? []) {
    const below = path === "" ? entry.name : `${path}/${entry.name}`;
    if (settings.skip?.(below)) continue;
    if (entry.isDirectory()) await makeDirectories(below, from, to, settings, found);
    else if (entry.isSymbolicLink()) await symlink(await readlink(join(from, below)), join(to, below));
    else if (entry.isFile()) found.files.push(below);
  }
}

/** Has the system write a file or a directory to the disk. */
export async function sync(path: string): Promise<void> {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Renames a file or a directory: when this resolves, the disk knows it by its new name. */
export async function renameDurably(from: string, to: string): Promise<void> {
  await rename(from, to);
  await sync(dirname(to));
}
