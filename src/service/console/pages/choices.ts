import type { ServiceContext } from "../../context.ts";
import type { BranchDatabase, Role } from "../../store/catalog.ts";
import { mostChoices } from "./paging.ts";

const first = { page: 1, size: mostChoices };

/** The oldest roles of a branch, or of those that log in; `chosen` is among them. */
export function rolesToChoose({ store }: ServiceContext, branchId: string, state = "", chosen?: Role): readonly Role[] {
  return withChosen(store.catalogs.findRoles(branchId, { search: "", state, sort: "" }, first).rows, chosen);
}

/** The oldest databases of a branch; `chosen` is among them. */
export function databasesToChoose(
  { store }: ServiceContext,
  branchId: string,
  chosen?: BranchDatabase,
): readonly BranchDatabase[] {
  return withChosen(store.catalogs.findDatabases(branchId, { search: "", state: "", sort: "" }, first).rows, chosen);
}

function withChosen<Row extends { name: string }>(rows: readonly Row[], chosen: Row | undefined): readonly Row[] {
  return chosen === undefined || rows.some(({ name }) => name === chosen.name) ? rows : [...rows, chosen];
}
