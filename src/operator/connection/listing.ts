import type { Endpoint } from "../../api/endpoint.ts";

/** One complete list of a project's endpoints. Times on the monotonic clock, in milliseconds. */
export interface Listing {
  endpoints: readonly Endpoint[];
  /** When its request began: the list shows every write that had ended by then. */
  startedAt: number;
  endedAt: number;
}
