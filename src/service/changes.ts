/** Counts the changes of the store, and reports each to everyone who follows them. */
export class Changes {
  #count = 0;
  readonly #followers = new Set<() => void>();

  /** How many changes there were since the process began. */
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
    for (const follower of this.#followers) follower();
  }
}
