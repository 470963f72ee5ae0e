import { z } from "zod";
import type { BranchData } from "../../store/branch-data.ts";

const CatalogRole = z.object({
  name: z.string(),
  login: z.boolean(),
  /** Tells one password from the next. */
  passwordSource: z.string(),
});

const CatalogDatabase = z.object({ id: z.number(), name: z.string(), ownerName: z.string() });

/** The rights that roles are given; data whose roles have others is brought up to date. */
export const currentRights = 6;

/** The roles and databases that the API knows of a branch. */
export const BranchCatalog = z.object({
  rights: z.number().default(1),
  roles: z.array(CatalogRole),
  databases: z.array(CatalogDatabase),
});
export type BranchCatalog = z.infer<typeof BranchCatalog>;

/** Of a database in a copy whose row in the store is not known: its name is what counts. */
export const unknownId = 0;

/** The source of the password of a role that is to be brought. */
export const notBrought = "";

export const emptyCatalog: BranchCatalog = { rights: 0, roles: [], databases: [] };

/** The roles and databases that were brought into the data of a branch. */
export function broughtInto({ catalog }: Pick<BranchData, "catalog">): BranchCatalog {
  return BranchCatalog.parse(JSON.parse(catalog));
}
