export interface KeptText {
  /** `undefined` until one is kept. */
  text: string | undefined;
  keep: (made: string) => void;
}

/** Texts by key, of so many characters in all: the oldest ones make room for another. */
export class KeptTexts {
  readonly #most: number;
  readonly #texts = new Map<string, KeptText>();
  #length = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** The text of a key, with its place: a text that is made now is kept there unless the key is deleted meanwhile. */
  of(key: string): KeptText {
    const kept: KeptText = this.#texts.get(key) ?? {
      text: undefined,
      keep: (made) => {
        if (kept.text !== undefined || this.#texts.get(key) !== kept) return;
        kept.text = made;
        this.#length += made.length;
        for (const oldest of this.#texts.keys()) {
          if (this.#length <= this.#most) break;
          this.delete(oldest);
        }
      },
    };
    this.#texts.set(key, kept);
    return kept;
  }

  delete(key: string): void {
    this.#length -= this.#texts.get(key)?.text?.length ?? 0;
    this.#texts.delete(key);
  }

  clear(): void {
    this.#texts.clear();
    this.#length = 0;
  }
}
