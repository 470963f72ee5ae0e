import { Held } from "../host/failure.ts";
import type { Session } from "../session/privileged-role.ts";

/** Steps of which none depends on another. */
export class Attempts {
  readonly #client: Session;
  readonly #failures: unknown[] = [];

  constructor(client: Session) {
    this.#client = client;
  }

  /** Answers whether it was made. */
  async make(step: () => Promise<unknown>): Promise<boolean> {
    try {
      await step();
      return true;
    } catch (error) {
      this.#failures.push(error);
      // A client that holds many locks has the service wait for the first of them alone.
      await this.#client.query("SET lock_timeout = '100ms'");
      return false;
    }
  }

  /** Throws the first failure, one that ends with a start of the server before others. */
  end(): void {
    if (this.#failures.length > 0) throw this.#failures.find((error) => error instanceof Held) ?? this.#failures[0];
  }
}
