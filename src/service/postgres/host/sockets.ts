import { randomBytes } from "node:crypto";
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { madeOnce } from "../../made-once.ts";
import type { Store } from "../../store/store.ts";

/** The number by which Postgres names each socket: a directory has one of them. */
export const socketNumber = 5432;

/** So many directories are kept before those are forgotten whose things are gone. */
const few = 1000;

/**
 * The sockets of all servers and poolers, each in a directory whose name nobody can guess: all servers run as one user,
 * who is a superuser at each socket, and a client of one may have it connect to any path, as with a subscription.
 */
export class Sockets {
  readonly #root: string;
  readonly #isThere: (key: string) => boolean;
  readonly #directories = new Map<string, string>();
  #most = few;

  /** `isThere`: false for the key of a thing that is gone. */
  constructor(root: string, isThere: (key: string) => boolean = () => true) {
    this.#root = root;
    this.#isThere = isThere;
  }

  /**
   * The directory of the socket of a thing, which is made by what listens there: the same as long as the thing is
   * there, since standbys find their primary by it.
   */
  of(key: string): string {
    return madeOnce(this.#directories, key, () => this.#next());
  }

  #next(): string {
    if (this.#directories.size >= this.#most) this.#forget();
    return join(this.#root, randomBytes(9).toString("base64url"));
  }

  /** Branches and computes come and go without end. */
  #forget(): void {
    for (const [key, directory] of this.#directories) {
      if (this.#isThere(key)) continue;
      this.#directories.delete(key);
      rmSync(directory, { recursive: true, force: true });
    }
    this.#most = Math.max(few, 2 * this.#directories.size);
  }
}

/** The path of the socket in a directory. */
export function socketIn(directory: string): string {
  return join(directory, `.s.PGSQL.${socketNumber}`);
}

/** True while the thing of a key is there: `branch ID`, `data DIRECTORY`, and `compute ID` and `pooler ID`. */
export function isStillThere({ branches, endpoints }: Pick<Store, "branches" | "endpoints">, key: string): boolean {
  const [, kind, name = ""] = /^(\w+) (.*)$/s.exec(key) ?? [];
  if (kind === "data") return existsSync(name);
  return kind === "branch" ? branches.exists(name) : endpoints.byId(name) !== undefined;
}
