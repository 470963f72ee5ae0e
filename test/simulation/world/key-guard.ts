/** Finds keys where they must never stand: as they are, or in base64. */
export class KeyGuard {
  readonly #traces: string[] = [];

  add(key: string): void {
    this.#traces.push(key, Buffer.from(key).toString("base64"));
  }

  leakedIn(text: string): boolean {
    return this.#traces.some((trace) => text.includes(trace));
  }
}
