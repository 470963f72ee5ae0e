import type { BranchDatabase } from "../../store/catalog.ts";
import { type BranchCatalog, unknownId } from "./branch-catalog.ts";

type Named = Pick<BranchDatabase, "id" | "name">;

/** Of a database that no row of the store means any more. */
const nobodysId = -1;

/**
 * The catalogue that a copy brings along: what was brought into the source's data, under the ids of the branch's rows.
 * The data may be older than the rows: without a compute that runs, a change of the API waits for the next one.
 *
 *   the source's row     | the branch's row of that name | so the database
 *   ---------------------|-------------------------------|---------------------------------------
 *   has another name now | is there                      | is to be renamed
 *   is gone              | was made since                | is dropped, and a new one is made
 *   neither              |                               | counts by its name
 *
 * All count by their names where the source is to get other data itself: its rows are of that, and `ofSource` is
 * `undefined`.
 */
export function inherited(
  brought: BranchCatalog,
  ofSource: readonly Named[] | undefined,
  own: readonly Named[],
): BranchCatalog {
  const present = new Map(ofSource?.map(({ id, name }) => [id, name]));
  const names = new Set(present.values());
  const ownIds = new Map(own.map(({ id, name }) => [name, id]));
  const databases = brought.databases.map((database) => {
    if (ofSource === undefined) return { ...database, id: unknownId };
    const now = present.get(database.id);
    const meant = now === undefined ? undefined : ownIds.get(now);
    const isReplaced = database.id !== unknownId && now === undefined && names.has(database.name);
    return { ...database, id: meant ?? (isReplaced ? nobodysId : unknownId) };
  });
  return { ...brought, databases };
}
