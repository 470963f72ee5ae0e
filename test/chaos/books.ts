/** What people did to one Compute, by its uid; times in milliseconds since the epoch, before the request was sent. */
export interface Deed {
  at: number;
  uid: string;
  name: string;
}

/** What people asked for, as they remember it: what the outcome is held against. */
export class Books {
  /** Uids of Computes that people made, by name; a pool makes others. */
  readonly made = new Map<string, string>();
  readonly deletions: (Deed & { retain: boolean })[] = [];
  readonly restarts: (Deed & { value: string })[] = [];
  /** Endpoints that somebody deleted at the service itself. */
  readonly strikes: { at: number; endpoint: string }[] = [];
  /** Everything else that was done, by what: to show that there was a storm. */
  readonly #counts = new Map<string, number>();
  readonly #history: string[] = [];

  note(what: string, name: string): void {
    this.#counts.set(what, (this.#counts.get(what) ?? 0) + 1);
    this.#history.push(`${new Date().toISOString().slice(11, 23)} ${what} ${name}`);
  }

  /** How often each thing was done, e.g. `{create: 40, edit: 51}`. */
  get counts(): Record<string, number> {
    return Object.fromEntries([...this.#counts].toSorted(([a], [b]) => a.localeCompare(b)));
  }

  /** What was done to objects whose name holds this. */
  about(name: string): string[] {
    return this.#history.filter((line) => line.endsWith(` ${name}`));
  }
}
