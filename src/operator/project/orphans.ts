import type { Endpoint } from "../../api/endpoint.ts";
import { mostLagMs } from "../../api/list-lag.ts";
import type { Listing } from "./list-changes.ts";

/** An endpoint of this fleet whose Compute no longer exists. */
export interface Orphan {
  id: string;
  projectID: string;
}

/** Endpoints of a list that bear the signature of a Compute of this fleet that no longer exists. */
export type OrphansAmong = (endpoints: readonly Endpoint[]) => readonly Endpoint[];

/** Endpoints without a Compute, as lists of one project have shown them. */
interface Seen {
  /** Begin of the first of them. */
  since: number;
  /** Each endpoint without a Compute, and the begin of the first list that shows it so. */
  first: ReadonlyMap<string, number>;
  proved: readonly string[];
  judged: boolean;
}

/** The endpoints of a session's projects whose signatures bear a uid that no Compute has. They are never deleted. */
export class Orphans {
  readonly #among: OrphansAmong;
  readonly #onChange: () => void;
  readonly #projects = new Map<string, Seen>();

  constructor(among: OrphansAmong, onChange: () => void) {
    this.#among = among;
    this.#onChange = onChange;
  }

  listed(projectID: string, { endpoints, startedAt }: Listing): void {
    const before = this.#projects.get(projectID);
    const since = before?.since ?? startedAt;
    const without = this.#among(endpoints).map(({ id }) => id);
    const first = new Map(without.map((id) => [id, before?.first.get(id) ?? startedAt]));
    const proved = without.filter((id) => startedAt - (first.get(id) ?? startedAt) >= mostLagMs).toSorted();
    const judged = startedAt - since >= mostLagMs;
    this.#projects.set(projectID, { since, first, proved, judged });
    if (judged && (before?.judged !== true || proved.join() !== before.proved.join())) this.#onChange();
  }

  /** The project is not listed any more. */
  forget(projectID: string): void {
    this.#projects.delete(projectID);
  }

  /** True once lists were seen that agree: a single one may be from before an endpoint was deleted. */
  isJudged(projectID: string): boolean {
    return this.#projects.get(projectID)?.judged === true;
  }

  /** Sorted by id. */
  get all(): Orphan[] {
    const all = [...this.#projects].flatMap(([projectID, { proved }]) => proved.map((id) => ({ id, projectID })));
    return all.toSorted((a, b) => a.id.localeCompare(b.id));
  }
}
