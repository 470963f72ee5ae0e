import type { ComputeCounts } from "./compute-counts.ts";

/** `--metrics-namespaces`: these, or so many of those with the most Computes. */
export type MetricsNamespaces = readonly string[] | number;

/** Label values of the namespaces that metrics do not name, and of objects that no Compute keeps. */
const other = "other";
const none = "none";

/** The value of the label `namespace`: bounded, whatever number of namespaces has Computes. */
export class MetricNamespaces {
  readonly #counts: ComputeCounts;
  readonly #most: number | undefined;
  #named: ReadonlySet<string>;

  constructor(wanted: MetricsNamespaces, counts: ComputeCounts) {
    this.#counts = counts;
    this.#most = typeof wanted === "number" ? wanted : undefined;
    this.#named = new Set(typeof wanted === "number" ? [] : wanted);
  }

  /** Chooses again those with the most Computes; of equal ones the first by name. */
  refresh(): void {
    if (this.#most === undefined || this.#most === 0) return;
    const bySize = [...this.#counts.byNamespace()].toSorted(([a, many], [b, more]) => more - many || (a < b ? -1 : 1));
    this.#named = new Set(bySize.slice(0, this.#most).map(([namespace]) => namespace));
  }

  of(namespace: string | undefined): string {
    if (namespace === undefined) return none;
    // Nothing was scraped yet.
    if (this.#named.size === 0) this.refresh();
    return this.#named.has(namespace) ? namespace : other;
  }
}
