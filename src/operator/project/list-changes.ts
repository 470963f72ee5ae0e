import type { Endpoint } from "../../api/endpoint.ts";
import { sameJSON } from "../objects/record.ts";

/** Differences between two views of a project. */
export interface ListChanges {
  /** Endpoints that differ in anything. */
  ids: readonly string[];
  /** Endpoints that were added, removed, moved or renamed, as they were before and as they are now. */
  places: readonly Endpoint[];
}

export function changesBetween(before: readonly Endpoint[], after: readonly Endpoint[]): ListChanges {
  if (before === after) return { ids: [], places: [] };
  const known = new Map(before.map((endpoint) => [endpoint.id, endpoint]));
  const ids: string[] = [];
  const places: Endpoint[] = [];
  for (const endpoint of after) {
    const old = known.get(endpoint.id);
    known.delete(endpoint.id);
    if (old === endpoint) continue;
    if (old === undefined) places.push(endpoint);
    else if (!isInPlace(old, endpoint)) places.push(old, endpoint);
    else if (sameJSON(old, endpoint)) continue;
    ids.push(endpoint.id);
  }
  for (const gone of known.values()) {
    ids.push(gone.id);
    places.push(gone);
  }
  return { ids, places };
}

function isInPlace(before: Endpoint, after: Endpoint): boolean {
  return before.branch_id === after.branch_id && before.type === after.type && before.name === after.name;
}

/** One complete list of a project's endpoints. Times on the monotonic clock, in milliseconds. */
export interface Listing {
  endpoints: readonly Endpoint[];
  /** Begin of its request: the list shows every write that had ended by then. */
  startedAt: number;
  endedAt: number;
}
