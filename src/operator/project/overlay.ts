import { type Endpoint, EndpointPatch } from "../../api/endpoint.ts";
import { sameJSON } from "../objects/record.ts";
import type { Listing } from "./list-changes.ts";

/** So many lists, begun after the operations of a write ended, outweigh its answer. */
const outweighedBy = 2;

/** Fields of a write: a list that shows these as the answer did shows the write. The operator sends no provisioner. */
const written = EndpointPatch.shape.endpoint.omit({ provisioner: true }).keyof().options;

interface Answered {
  endpoint: Endpoint;
  /** End of the write, on the monotonic clock. */
  at: number;
  /** Number of lists that count and have contradicted it. */
  contradicted: number;
}

/**
 * The endpoints as the answers to this process's writes show them, laid over the latest list until a list shows them as
 * written: lists are not needed for each write, and may lag behind it. Only for answers of 2xx with the whole endpoint.
 */
export class Overlay {
  readonly #answered = new Map<string, Answered>();
  lay(endpoint: Endpoint, at: number): void {
    this.#answered.set(endpoint.id, { endpoint, at, contradicted: 0 });
  }

  remove(endpointID: string): void {
    this.#answered.delete(endpointID);
  }

  /** True if the endpoint is observed as the answer to a write shows it, and not as a list does. */
  has(endpointID: string): boolean {
    return this.#answered.has(endpointID);
  }

  /**
   * A new list came in. `endedAt`: when the operations of an endpoint were over; `undefined`: one is in progress.
   * Returns whether a further list is needed to decide which of the two counts.
   */
  listed({ endpoints, startedAt }: Listing, endedAt: (endpointID: string) => number | undefined): boolean {
    if (this.#answered.size === 0) return false;
    const listed = new Map(endpoints.map((endpoint) => [endpoint.id, endpoint]));
    let undecided = false;
    for (const [id, answered] of this.#answered) {
      const ended = endedAt(id);
      // A list that was under way shows the write, and does not count as one from after it: the answer stays.
      if (startedAt > answered.at && showsWritten(listed.get(id), answered.endpoint)) this.#answered.delete(id);
      else if (ended !== undefined && startedAt > Math.max(ended, answered.at)) {
        answered.contradicted += 1;
        if (answered.contradicted >= outweighedBy) this.#answered.delete(id);
        else undecided = true;
      } else undecided ||= ended !== undefined;
    }
    return undecided;
  }

  /** The list with the answers laid over it. */
  over(listing: Listing): Listing {
    if (this.#answered.size === 0) return listing;
    const rest = new Map(this.#answered);
    const endpoints = listing.endpoints.map((endpoint) => {
      const answered = rest.get(endpoint.id)?.endpoint;
      rest.delete(endpoint.id);
      return answered ?? endpoint;
    });
    return { ...listing, endpoints: [...endpoints, ...[...rest.values()].map(({ endpoint }) => endpoint)] };
  }
}

function showsWritten(listed: Endpoint | undefined, answered: Endpoint): boolean {
  return listed !== undefined && written.every((field) => sameJSON(listed[field], answered[field]));
}
