import { constants, type Dirent } from "node:fs";
import { chown, copyFile, link, mkdir, open, readdir, readlink, symlink } from "node:fs/promises";
import { join } from "node:path";
import type { ProcessUser } from "./processes.ts";
import { Slots } from "./slots.ts";

export interface CopySettings {
  /** Whom the copy belongs to, where not to this process. */
  owner: ProcessUser | undefined;
  /** Paths below the source, with `/`, that are left out. A directory is left out with all it holds. */
  skip?: (path: string) => boolean;
  /** Files share their content with the source, where both are on one disk: for what is never written. */
  hardLinks?: boolean;
  /** Of directories; 0700 where it is left out. */
  mode?: number;
  /** For files that are copied or synced at the same time, shared by several copies. */
  slots?: Slots;
}

/**
 * How many files are copied at once: Node has four threads for files, and the wakes of other computes need some while
 * large files are copied.
 */
export const copySlots = 2;

/**
 * Copies a directory, and resolves when the copy is on disk. Files share their content with the source where the file
 * system can. What vanishes from the source meanwhile is left out: a running server removes files, and its write-ahead
 * log knows of it. The disk is waited for once, at the end: a sync of each file right after its copy would wait for the
 * journal of the file system thousands of times.
 */
export async function copyTree(from: string, to: string, settings: CopySettings): Promise<void> {
  const files: string[] = [];
  const directories: string[] = [];
  await makeDirectories("", from, to, settings, { files, directories });
  const { slots = new Slots(copySlots), hardLinks } = settings;
  const copied = await eachIn(slots, files, (file) => copyOne(file, from, to, settings));
  const written = hardLinks ? [] : files.filter((_, index) => copied[index]);
  await eachIn(slots, [...written, ...directories], (path) => sync(join(to, path)));
}

/** Acts on all, and keeps no more of them waiting for a slot at once than there are likely to be. */
async function eachIn<Result>(
  slots: Slots,
  paths: readonly string[],
  act: (path: string) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  let next = 0;
  const work = async () => {
    for (let index = next++; index < paths.length; index = next++) {
      results[index] = await slots.take(() => act(paths[index] ?? ""));
    }
  };
  await Promise.all(Array.from({ length: copySlots }, work));
  return results;
}

async function makeDirectories(
  path: string,
  from: string,
  to: string,
  settings: CopySettings,
  found: { files: string[]; directories: string[] },
): Promise<void> {
  const entries = await readdir(join(from, path), { withFileTypes: true }).catch(unlessGone<Dirent[]>([]));
  await mkdir(join(to, path), { recursive: true, mode: settings.mode ?? 0o700 });
  if (settings.owner) await chown(join(to, path), settings.owner.uid, settings.owner.gid);
  found.directories.push(path);
  for (const entry of entries) {
    const below = path === "" ? entry.name : `${path}/${entry.name}`;
    if (settings.skip?.(below)) continue;
    if (entry.isDirectory()) await makeDirectories(below, from, to, settings, found);
    else if (entry.isSymbolicLink()) await symlink(await readlink(join(from, below)), join(to, below));
    else if (entry.isFile()) found.files.push(below);
  }
}

/** Answers whether the file was still there. */
async function copyOne(path: string, from: string, to: string, settings: CopySettings): Promise<boolean> {
  const { owner, hardLinks } = settings;
  const [source, copy] = [join(from, path), join(to, path)];
  if (hardLinks && (await link(source, copy).then(...toBoolean))) return true;
  const copied = await copyFile(source, copy, constants.COPYFILE_FICLONE).then(() => true, unlessGone(false));
  if (copied && owner) await chown(copy, owner.uid, owner.gid);
  return copied;
}

const toBoolean = [() => true, () => false] as const;

/** Has the system write a file or a directory to the disk. */
export async function sync(path: string): Promise<void> {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function unlessGone<T>(instead: T): (error: NodeJS.ErrnoException) => T {
  return (error) => {
    if (error.code === "ENOENT") return instead;
    throw error;
  };
}
