import type { Endpoint } from "../../api/endpoint.ts";
import type { Listing } from "./list-changes.ts";

/** The endpoints of a project that lists show with a change in progress. Times on the monotonic clock. */
export class PendingEndpoints {
  #since: ReadonlyMap<string, number> = new Map();
  #listedAt = Number.NEGATIVE_INFINITY;

  listed({ endpoints, startedAt }: Listing): void {
    const pending = endpoints.filter(isPending);
    this.#since = new Map(pending.map(({ id }) => [id, this.#since.get(id) ?? startedAt]));
    this.#listedAt = startedAt;
  }

  /** Begin of the first list in a row that shows a change in progress; `undefined`: the latest shows none. */
  since(endpointID: string): number | undefined {
    return this.#since.get(endpointID);
  }

  /** True if a list begun after that time shows no change in progress; `undefined`: no such list is there yet. */
  isAtRestAfter(endpointID: string, after: number): boolean | undefined {
    return this.#listedAt > after ? !this.#since.has(endpointID) : undefined;
  }
}

function isPending({ pending_state, current_state }: Endpoint): boolean {
  return pending_state !== undefined || current_state === "init";
}
