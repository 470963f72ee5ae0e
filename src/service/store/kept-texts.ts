/** Texts by key, of so many characters in all: the oldest ones make room for another. */
export class KeptTexts {
  readonly #most: number;
  readonly #texts = new Map<string, string>();
  #length = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** The text of a key, which is made where it is not kept. */
  get(key: string, make: () => string): string {
    const known = this.#texts.get(key);
    if (known !== undefined) return known;
    const made = make();
    this.#texts.set(key, made);
    this.#length += made.length;
    for (const oldest of this.#texts.keys()) {
      if (this.#length <= this.#most) break;
      this.delete(oldest);
    }
    return made;
  }

  delete(key: string): void {
    this.#length -= this.#texts.get(key)?.length ?? 0;
    this.#texts.delete(key);
  }

  clear(): void {
    this.#texts.clear();
    this.#length = 0;
  }
}
