/** Counts the changes of the store and reports each to all followers. */
export class Changes {
  #count = 0;
  readonly #followers = new Set<() => void>();
  readonly #onError: (error: unknown) => void;

  /** `onError`: called where a follower fails. The change is made all the same, and the others follow it. */
  constructor(onError: (error: unknown) => void) {
    this.#onError = onError;
  }

  /** The number of changes since the process started. */
  get count(): number {
    return this.#count;
  }

  /** Calls `follower` after every change, until the returned function is called. */
  follow(follower: () => void): () => void {
    this.#followers.add(follower);
    return () => {
      this.#followers.delete(follower);
    };
  }

  report(): void {
    this.#count += 1;
    for (const follower of this.#followers) {
      try {
        follower();
      } catch (error) {
        this.#onError(error);
      }
    }
  }
}
