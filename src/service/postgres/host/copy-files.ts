import type * as fs from "node:fs";
import type * as path from "node:path";
import { Worker } from "node:worker_threads";
import type { ProcessUser } from "./processes.ts";

/** The files of one directory that are copied into another, by their paths in it. */
export interface FilesToCopy {
  from: string;
  to: string;
  files: readonly string[];
  owner: ProcessUser | undefined;
  hardLinks: boolean;
}

/** Node's modules for a thread. */
export interface Modules {
  childProcess: { spawnSync(program: string, args: readonly string[]): { status: number | null } };
  fs: typeof fs;
  path: typeof path;
}

/**
 * Copies files in a thread of their own, and resolves when the copies are on disk. A copy has thousands of small files,
 * and each step of each would wait for one of Node's four threads, which the wakes of other computes need. When `ends`
 * aborts, the file at hand is the last.
 */
export function copyFilesInThread(workerData: FilesToCopy, ends?: AbortSignal): Promise<void> {
  const modules = '{ fs: require("node:fs"), path: require("node:path"), childProcess: require("node:child_process") }';
  const program = `(${copyFiles.toString()})(require("node:worker_threads").workerData, ${modules})`;
  return new Promise((resolve, reject) => {
    const thread = new Worker(program, { eval: true, workerData });
    const stop = () => void thread.terminate();
    ends?.addEventListener("abort", stop);
    thread.once("error", reject);
    thread.once("exit", () => {
      ends?.removeEventListener("abort", stop);
      resolve();
    });
  });
}

/**
 * The thread's whole program: it sees nothing else of this file. Copies share their content with the source where the
 * file system can. When all are there, their file system is synced as a whole, which waits for its journal once; where
 * the system has no program for that, each file is.
 */
export function copyFiles(
  { from, to, files, owner, hardLinks }: FilesToCopy,
  { fs: system, path: paths, childProcess: programs }: Modules,
): void {
  const unless = (code: string, act: () => void): boolean => {
    try {
      act();
      return true;
    } catch (error) {
      if (code === "" || (error instanceof Error && "code" in error && error.code === code)) return false;
      throw error;
    }
  };
  const written: string[] = [];
  for (const file of files) {
    const [source, copy] = [paths.join(from, file), paths.join(to, file)];
    if (hardLinks && unless("", () => system.linkSync(source, copy))) continue;
    // Files that have vanished are left out.
    if (!unless("ENOENT", () => system.copyFileSync(source, copy, system.constants.COPYFILE_FICLONE))) continue;
    if (owner) system.chownSync(copy, owner.uid, owner.gid);
    written.push(copy);
  }
  if (written.length === 0 || programs.spawnSync("sync", ["-f", to]).status === 0) return;
  for (const copy of written) {
    const descriptor = system.openSync(copy, "r");
    try {
      system.fsyncSync(descriptor);
    } finally {
      system.closeSync(descriptor);
    }
  }
}
