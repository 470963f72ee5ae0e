import { elapsed } from "../clock.ts";
import type { Service } from "../service.ts";
import type { Seed } from "./document.ts";

/**
 * Clears what was deleted, in small transactions, where a seed has projects to plant: deleted ones may have had their
 * ids, and have millions of rows. Answers false where it is to end before.
 */
export async function clearedFor(
  projects: Seed["projects"],
  service: Pick<Service, "clear" | "context">,
  ends: AbortSignal,
): Promise<boolean> {
  const { store, clock } = service.context;
  if (projects.every(({ id }) => store.projects.get(id))) return true;
  while (store.removed.any() && !ends.aborted) {
    service.clear();
    await elapsed(clock, 0);
  }
  return !ends.aborted;
}
