import type { Endpoint } from "../../api/endpoint.ts";

/**
 * What is new in a list. `structure`: endpoints came, went, moved or changed hands, which may concern any Compute of
 * the project. `states`: only these endpoints differ.
 */
export type ListChanges = { kind: "structure" } | { kind: "states"; ids: readonly string[] };

export function changesBetween(before: readonly Endpoint[], after: readonly Endpoint[]): ListChanges {
  if (before.length !== after.length) return { kind: "structure" };
  const known = new Map(before.map((endpoint) => [endpoint.id, endpoint]));
  const ids: string[] = [];
  for (const endpoint of after) {
    const old = known.get(endpoint.id);
    if (old === undefined || place(old) !== place(endpoint)) return { kind: "structure" };
    if (JSON.stringify(old) !== JSON.stringify(endpoint)) ids.push(endpoint.id);
  }
  return { kind: "states", ids };
}

function place({ branch_id, type, name }: Endpoint): string {
  return JSON.stringify([branch_id, type, name]);
}
