import type { Endpoint } from "../../api/endpoint.ts";
import { sameJSON } from "../resources/equal.ts";

/**
 * What is new in a list. `structure`: endpoints were added, removed, moved or renamed, which may affect any Compute of
 * the project. `states`: only these endpoints differ.
 */
export type ListChanges = { kind: "structure" } | { kind: "states"; ids: readonly string[] };

/** `before` is `undefined` for the first list. */
export function changesBetween(before: readonly Endpoint[] | undefined, after: readonly Endpoint[]): ListChanges {
  if (before === after) return { kind: "states", ids: [] };
  if (before?.length !== after.length) return { kind: "structure" };
  const known = new Map(before.map((endpoint) => [endpoint.id, endpoint]));
  const ids: string[] = [];
  for (const endpoint of after) {
    const old = known.get(endpoint.id);
    if (old === endpoint) continue;
    if (old === undefined || !isInPlace(old, endpoint)) return { kind: "structure" };
    if (!sameJSON(old, endpoint)) ids.push(endpoint.id);
  }
  return { kind: "states", ids };
}

function isInPlace(before: Endpoint, after: Endpoint): boolean {
  return before.branch_id === after.branch_id && before.type === after.type && before.name === after.name;
}
