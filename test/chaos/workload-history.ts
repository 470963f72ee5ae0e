/** What somebody did to one Compute, by its uid; times in milliseconds since the epoch, before the request was sent. */
export interface Deed {
  at: number;
  uid: string;
  name: string;
}

/** What users requested, as they remember it: the outcome is compared with this. */
export class WorkloadHistory {
  /** Uids of Computes that users created, with their names; a pool creates others. */
  readonly made = new Map<string, string>();
  readonly deletions: (Deed & { retain: boolean })[] = [];
  readonly restarts: (Deed & { value: string })[] = [];
  /** Endpoints that somebody deleted at the service. */
  readonly strikes: (Deed & { endpoint: string })[] = [];
  /** Uids of Computes whose finalizer and annotations somebody's `kubectl replace` dropped. */
  readonly replaced = new Set<string>();
  /** Everything that was done, oldest first. */
  readonly history: { at: number; what: string; name: string }[] = [];

  note(what: string, name: string): void {
    this.history.push({ at: Date.now(), what, name });
  }

  /** How often each thing was done, e.g. `{create: 40, edit: 51}`. */
  get counts(): Record<string, number> {
    const groups = Object.entries(Object.groupBy(this.history, ({ what }) => what));
    return Object.fromEntries(
      groups.toSorted(([a], [b]) => a.localeCompare(b)).map(([what, done = []]) => [what, done.length]),
    );
  }
}
