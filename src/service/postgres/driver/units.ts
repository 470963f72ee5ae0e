/** A text in the making, as units of UTF-16: of millions, pieces or a pattern would take seconds. */
export class Units {
  readonly #units: Uint16Array<ArrayBuffer>;
  #length = 0;

  /** `most`: the units that it may have. */
  constructor(most: number) {
    this.#units = new Uint16Array(most);
  }

  add(unit: number): void {
    this.#units[this.#length++] = unit;
  }

  addAll(text: string): void {
    for (let at = 0; at < text.length; at += 1) this.add(text.charCodeAt(at));
  }

  text(): string {
    return Buffer.from(this.#units.buffer, 0, 2 * this.#length).toString("utf16le");
  }
}
