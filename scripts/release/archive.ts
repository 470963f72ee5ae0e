import { chmodSync, copyFileSync, globSync, mkdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { create } from "tar";

/** A file of an archive: its content, or the file that holds it. */
export type Entry = { readonly content: string | Uint8Array } | { readonly file: string };

/** Files by their path in the archive; those in `executable` may be run. */
export interface Content {
  readonly files: ReadonlyMap<string, Entry>;
  readonly executable?: readonly string[];
}

export interface ArchiveOptions {
  /** Directory of its own for the files on their way into the archive; removed afterwards. */
  readonly staging: string;
  readonly output: string;
  /** Time of every file. */
  readonly time: Date;
  readonly compressed: boolean;
}

/**
 * Writes a tar archive whose bytes depend on its content and `time` only: sorted paths, no owner, no time but the given
 * one, modes 0644 and 0755, and a gzip header without time and system.
 */
export function writeArchive({ files, executable = [] }: Content, options: ArchiveOptions): void {
  const { staging, output, time, compressed } = options;
  rmSync(staging, { recursive: true, force: true });
  for (const [path, entry] of files) place(join(staging, path), entry, executable.includes(path) ? 0o755 : 0o644);
  const paths = globSync("**", { cwd: staging }).filter((path) => statSync(join(staging, path)).isFile());
  const gzip = compressed ? { gzip: { level: 9, portable: true } } : {};
  create({ cwd: staging, file: output, portable: true, mtime: time, sync: true, ...gzip }, paths.toSorted());
  rmSync(staging, { recursive: true });
}

function place(path: string, entry: Entry, mode: number): void {
  mkdirSync(dirname(path), { recursive: true });
  if ("file" in entry) copyFileSync(entry.file, path);
  else writeFileSync(path, entry.content);
  chmodSync(path, mode);
}
