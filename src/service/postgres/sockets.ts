import { join } from "node:path";

/** The sockets of all servers and poolers: files in one directory, named by numbers as Postgres names its own. */
export class Sockets {
  readonly directory: string;
  readonly #numbers = new Map<string, number>();

  constructor(directory: string) {
    this.directory = directory;
  }

  /** The same for the same thing as long as the service runs: standbys find their primary by it. */
  number(key: string): number {
    const known = this.#numbers.get(key);
    if (known !== undefined) return known;
    const number = this.#numbers.size + 1;
    this.#numbers.set(key, number);
    return number;
  }

  path(number: number): string {
    return join(this.directory, `.s.PGSQL.${number}`);
  }
}
