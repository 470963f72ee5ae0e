import { randomBytes } from "node:crypto";
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { madeOnce } from "../../made-once.ts";
import type { Store } from "../../store/store.ts";
import { ServerFailed } from "./failure.ts";

/** The largest number: Postgres takes it for a port. */
const largest = 65_535;

/** So many numbers are kept before those are forgotten whose things are gone. */
const fewNumbers = 1000;

/**
 * The sockets of all servers and poolers, named by numbers as Postgres names its own, each in a directory whose name
 * nobody can guess: all servers run as one user, who is a superuser at each socket, and a client of one may have it
 * connect to any path, as with a subscription.
 */
export class Sockets {
  readonly #root: string;
  readonly #isThere: (key: string) => boolean;
  readonly #numbers = new Map<string, number>();
  readonly #taken = new Set<number>();
  /** By number. */
  readonly #directories = new Map<number, string>();
  #last = 0;
  #most = fewNumbers;

  /** `isThere`: false for the key of a thing that is gone. */
  constructor(root: string, isThere: (key: string) => boolean = () => true) {
    this.#root = root;
    this.#isThere = isThere;
  }

  /**
   * The same for the same thing as long as that is there: standbys find their primary by it. Of a thing that is gone it
   * is given to another one after all others: its server may still be ending. Throws `ServerFailed` where none is left.
   */
  number(key: string): number {
    return madeOnce(this.#numbers, key, () => this.#next());
  }

  /** The number and directory of the socket of a thing, as Postgres wants them. */
  of(key: string): { port: number; sockets: string } {
    const port = this.number(key);
    return { port, sockets: this.directory(port) };
  }

  /** The directory of a socket, which is made by what listens there. */
  directory(number: number): string {
    return madeOnce(this.#directories, number, () => join(this.#root, randomBytes(9).toString("base64url")));
  }

  path(number: number): string {
    return join(this.directory(number), `.s.PGSQL.${number}`);
  }

  #next(): number {
    if (this.#numbers.size >= this.#most) this.#forget();
    if (this.#taken.size >= largest) throw new ServerFailed(`${largest} servers have their sockets: delete branches`);
    do this.#last = (this.#last % largest) + 1;
    while (this.#taken.has(this.#last));
    this.#taken.add(this.#last);
    return this.#last;
  }

  /** Branches and computes come and go without end. */
  #forget(): void {
    for (const [key, number] of this.#numbers) {
      if (this.#isThere(key)) continue;
      this.#numbers.delete(key);
      this.#taken.delete(number);
      rmSync(this.directory(number), { recursive: true, force: true });
      this.#directories.delete(number);
    }
    this.#most = Math.min(largest, Math.max(fewNumbers, 2 * this.#numbers.size));
  }
}

/** True while the thing of a key is there: `branch ID`, `data DIRECTORY`, and `compute ID` and `pooler ID`. */
export function isStillThere({ branches, endpoints }: Pick<Store, "branches" | "endpoints">, key: string): boolean {
  const [, kind, name = ""] = /^(\w+) (.*)$/s.exec(key) ?? [];
  if (kind === "data") return existsSync(name);
  return kind === "branch" ? branches.exists(name) : endpoints.byId(name) !== undefined;
}
