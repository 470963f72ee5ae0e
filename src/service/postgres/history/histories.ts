import { readdirSync, statSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { basename, join } from "node:path";
import type { HistoryState } from "../../computes/backend.ts";
import { Turns } from "../../sharing/turns.ts";
import { removeTree, unlessGone } from "../host/each-file.ts";
import type { ProcessUser } from "../host/processes.ts";
import { BranchHistory, baseOf, oldestFirst } from "./branch-history.ts";

/** The histories of all data, by the name of its directory. */
export class Histories {
  readonly #root: string;
  readonly #owner: ProcessUser | undefined;
  /** By directory: who takes its log. */
  readonly #turns = new Turns();

  /** `owner`: whom the files belong to, where not to this process. */
  constructor(root: string, owner: ProcessUser | undefined) {
    this.#root = root;
    this.#owner = owner;
  }

  /** The history of data that lies in this directory. */
  of(data: string): BranchHistory {
    return new BranchHistory(join(this.#root, basename(data)), this.#owner, this.#turns);
  }

  /** Reach of this data's history; `undefined` where nothing can be recovered. */
  state(data: string): HistoryState | undefined {
    const directory = join(this.#root, basename(data));
    const bases = join(directory, "bases");
    const found = entriesOf(bases).flatMap((name) => baseOf(bases, name));
    const [oldest] = found.toSorted(oldestFirst);
    if (!oldest) return undefined;
    const own = sum(found.map((base) => base.bytes)) + bytesOf(join(directory, "wal"));
    return { since: oldest.at, position: oldest.position, bytes: own };
  }

  async remove(data: string, ends = () => false): Promise<void> {
    await removeTree(join(this.#root, basename(data)), ends);
  }

  /** The names of the directories that have one. */
  names(): Promise<string[]> {
    return readdir(this.#root);
  }
}

/** In one turn: few bases and bounded looks. */
function entriesOf(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    return unlessGone(error) ?? [];
  }
}

/** The most files that are looked at in one turn of the loop: a log is twice as long as the data, in files of 1 MiB. */
const mostLooks = 1000;

/** Bytes of a log that are not shared; of a long one a part of the files stands for all. */
function bytesOf(log: string): number {
  const names = entriesOf(log);
  const each = Math.max(1, Math.ceil(names.length / mostLooks));
  const sizes = names.filter((_, index) => index % each === 0).map((name) => ownSize(join(log, name)));
  return sizes.length === 0 ? 0 : Math.round((sum(sizes) * names.length) / sizes.length);
}

function sum(sizes: readonly number[]): number {
  return sizes.reduce((all, size) => all + size, 0);
}

/** Nothing for what is shared with the history of another branch, or gone by now. */
function ownSize(file: string): number {
  const { nlink, size } = statSync(file, { throwIfNoEntry: false }) ?? { nlink: 0, size: 0 };
  return nlink > 1 ? 0 : size;
}
