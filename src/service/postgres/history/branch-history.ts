import { constants } from "node:fs";
import { chown, copyFile, link, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { type HistoryPoint, positionOf } from "../../domain/history-point.ts";
import type { Turns } from "../../sharing/turns.ts";
import { checkpointOf } from "../data/backup.ts";
import { isSegment, isTimelineHistory, placeAt, placeOf } from "../data/segments.ts";
import { copyTree, renameDurably, sync } from "../host/copy-tree.ts";
import { namesIn, removeTree, unlessGone } from "../host/each-file.ts";
import { makeDirectory } from "../host/private-file.ts";
import type { ProcessUser } from "../host/processes.ts";
import { newestEnd } from "./commits.ts";

/** A copy of a branch's data from which its later states can be recovered. */
export interface Base {
  directory: string;
  /** From when on, in milliseconds since the epoch. */
  at: number;
  /** From which position of the log on. */
  position: bigint;
  /** The place of the first segment that recovery from it reads. */
  place: string;
  /** Bytes on the disk: none where it shares its files with another branch or with the template. */
  bytes: number;
}

/** Makes a base in a directory that is not there yet. */
export type MakeBase = (directory: string) => Promise<Omit<Base, "directory">>;

/**
 * The history of one branch's data on the disk: base copies, and the segments of its log.
 *
 *   bases/AT.POSITION.PLACE.BYTES/   copies of the data, which never run
 *   wal/SEGMENT                      complete segments, from the place of the oldest base on
 *
 * A branch that begins as a copy of another one inherits its history by hard links, which take no room: the log up to
 * the copy is common to both. The first base of a branch without parent is the template that its data is made of.
 */
export class BranchHistory {
  readonly #bases: string;
  readonly #wal: string;
  readonly #directory: string;
  readonly #owner: ProcessUser | undefined;
  readonly #turns: Turns;

  /** `owner`: whom the files belong to, where not to this process. `turns`: those of the directory. */
  constructor(directory: string, owner: ProcessUser | undefined, turns: Turns) {
    this.#turns = turns;
    this.#directory = directory;
    this.#owner = owner;
    this.#bases = join(directory, "bases");
    this.#wal = join(directory, "wal");
  }

  /** Oldest first. */
  async bases(): Promise<Base[]> {
    const names = await namesIn(this.#bases);
    return names.flatMap((name) => baseOf(this.#bases, name)).toSorted(oldestFirst);
  }

  /** The newest base from which a point can be recovered. */
  async baseFor(point: HistoryPoint): Promise<Base | undefined> {
    const before = (base: Base) =>
      point.kind === "time" ? base.at <= point.at : base.position <= positionOf(point.lsn);
    return (await this.bases()).findLast(before);
  }

  /** The time of the newest end of a transaction in the log that was written since a time. `data`: the directory. */
  async newestEnd(data: string, since: number): Promise<number> {
    return Math.max(await newestEnd(this.#wal, since), await newestEnd(join(data, "pg_wal"), since));
  }

  /** Adds a base that `copy` makes in the directory that it is given. */
  async addBase(copy: MakeBase): Promise<void> {
    await this.#make();
    const making = join(this.#bases, "making");
    // Of an earlier process.
    await removeTree(making);
    try {
      const { at, position, place, bytes } = await copy(making);
      await renameDurably(making, join(this.#bases, `${at}.${position}.${place}.${bytes}`));
    } finally {
      // A copy that failed is as large as the branch, whose server may not run again.
      await removeTree(making);
    }
  }

  /** Takes the segments that a server has completed; answers how many. Its data may be in use, or not. */
  archive(data: string): Promise<number> {
    return this.#turns.take(this.#directory, () => this.#archive(data));
  }

  async #archive(data: string): Promise<number> {
    const log = join(data, "pg_wal");
    const statuses = join(log, "archive_status");
    const ready = (await namesIn(statuses)).filter((name) => name.endsWith(".ready"));
    if (ready.length === 0) return 0;
    await this.#make();
    for (const status of ready) {
      const name = status.slice(0, -".ready".length);
      if (isSegment(name) || isTimelineHistory(name)) await this.#take(join(log, name), name);
    }
    await sync(this.#wal);
    // Postgres may now remove them.
    for (const status of ready) await rename(join(statuses, status), join(statuses, status.replace(/ready$/, "done")));
    return ready.length;
  }

  /**
   * Puts the log from a place on into a directory, for a recovery: what is taken, and over it what still is in use.
   * Segments that vanish meanwhile are left out: the server removes what was taken, and `prune` what no base needs.
   */
  async restoreLog(from: string, data: string, to: string): Promise<void> {
    for (const directory of [this.#wal, join(data, "pg_wal")]) {
      const names = await namesIn(directory);
      const needed = (name: string) => isTimelineHistory(name) || (isSegment(name) && placeOf(name) >= from);
      for (const name of names.filter(needed)) {
        await this.#copy(join(directory, name), join(to, name)).catch(unlessGone);
      }
    }
  }

  /** Inherits what another branch has: all, or its bases up to a position and its log up to a place. */
  inherit(other: BranchHistory, until?: { position: bigint; place: string }): Promise<void> {
    // A base that is removed meanwhile would be inherited in part.
    return this.#turns.take(other.#directory, () => this.#inherit(other, until));
  }

  async #inherit(other: BranchHistory, until?: { position: bigint; place: string }): Promise<void> {
    await this.#make();
    for (const { directory, at, position, place } of await other.bases()) {
      // A base that was made meanwhile has what this branch has not.
      if (until && position > until.position) continue;
      await this.addBase(async (to) => ({ at, position, place, bytes: await linked(directory, to, this.#owner) }));
    }
    const before = (name: string) => !until || placeOf(name) < until.place;
    // Not one that is being taken: its file would be that of another segment later, and both histories would write it.
    const common = (name: string) => isTimelineHistory(name) || (isSegment(name) && before(name));
    const names = await namesIn(other.#wal);
    for (const name of names.filter(common)) await link(join(other.#wal, name), join(this.#wal, name));
    await sync(this.#wal);
  }

  /**
   * Takes the segments that the copy of a running server came with: they are complete, but its own server, which begins
   * after them, never says so.
   */
  async takeCopied(data: string): Promise<void> {
    const log = join(data, "pg_wal");
    for (const name of (await readdir(log)).filter(isSegment)) await this.#take(join(log, name), name);
    await sync(this.#wal);
  }

  /** Number of segments that came after the newest base. */
  async segmentsSinceBase(): Promise<number> {
    const newest = (await this.bases()).at(-1);
    const names = (await namesIn(this.#wal)).filter(isSegment);
    return names.filter((name) => !newest || placeOf(name) >= newest.place).length;
  }

  /**
   * Keeps at most two bases and the log from the older one on: the one that reaches back to a time, and the newest.
   */
  prune(since: number): Promise<void> {
    return this.#turns.take(this.#directory, () => this.#prune(since));
  }

  async #prune(since: number): Promise<void> {
    const bases = await this.bases();
    const needless = bases.findLastIndex(({ at }, index) => at <= since || index <= bases.length - 2);
    const [oldest] = bases.slice(Math.max(0, needless));
    const removing = join(this.#bases, "removing");
    // Of an earlier process.
    await removeTree(removing);
    for (const { directory } of bases.slice(0, Math.max(0, needless))) {
      // A part of a base is none: neither for a copy under way, nor after a removal that was broken off.
      await renameDurably(directory, removing);
      await removeTree(removing);
    }
    if (!oldest) return;
    for (const name of await readdir(this.#wal)) {
      if (isSegment(name) && placeOf(name) < oldest.place) await rm(join(this.#wal, name), { force: true });
    }
  }

  async #take(file: string, name: string): Promise<void> {
    const making = join(this.#wal, "making");
    await this.#copy(file, making);
    await sync(making);
    await rename(making, join(this.#wal, name));
  }

  async #copy(from: string, to: string): Promise<void> {
    await copyFile(from, to, constants.COPYFILE_FICLONE);
    if (this.#owner) await chown(to, this.#owner.uid, this.#owner.gid);
  }

  async #make(): Promise<void> {
    for (const directory of [this.#directory, this.#bases, this.#wal]) await makeDirectory(directory, this.#owner);
  }
}

/** The order of bases in the log: the clock may be set back between two of them. */
export function oldestFirst(one: Base, other: Base): number {
  return Number(one.position - other.position) || one.at - other.at;
}

/** The base that a directory of this name is. */
export function baseOf(parent: string, name: string): Base[] {
  const [, at, position, place, bytes] = /^(\d+)\.(\d+)\.([0-9A-F]{16})\.(\d+)$/.exec(name) ?? [];
  if (at === undefined || position === undefined || place === undefined) return [];
  return [{ directory: join(parent, name), at: Number(at), position: BigInt(position), place, bytes: Number(bytes) }];
}

/** A base of data whose server does not run: its own files, where those never change, or a copy of them. */
export function stoppedBase(data: string, at: number, copy: (to: string) => Promise<number>): MakeBase {
  return async (to) => {
    const position = await checkpointOf(data);
    return { at, position, place: placeAt(position), bytes: await copy(to) };
  };
}

/** Copies a directory whose files never change without taking room. */
export async function linked(from: string, to: string, owner: ProcessUser | undefined): Promise<number> {
  await copyTree(from, to, { owner, hardLinks: true });
  return 0;
}
