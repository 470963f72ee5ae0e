import { join } from "node:path";
import { madeOnce } from "../made-once.ts";

/** The sockets of all servers and poolers: files in one directory, named by numbers as Postgres names its own. */
export class Sockets {
  readonly directory: string;
  readonly #numbers = new Map<string, number>();

  constructor(directory: string) {
    this.directory = directory;
  }

  /** The same for the same thing as long as the service runs: standbys find their primary by it. */
  number(key: string): number {
    return madeOnce(this.#numbers, key, () => this.#numbers.size + 1);
  }

  path(number: number): string {
    return join(this.directory, `.s.PGSQL.${number}`);
  }
}
