import type { ChangedWithSql } from "../../store/catalog.ts";
import type { TextRow } from "../session/sql-client.ts";
import { type BranchCatalog, unknownId } from "./branch-catalog.ts";

/** Asks a server for the databases of clients, and whether one is no more than what is left of a broken-off drop. */
export const presentQuery = `SELECT datname, rolname, datconnlimit = -2 FROM pg_database
  JOIN pg_roles r ON r.oid = datdba WHERE NOT rolsuper`;

/** The databases that a server has, by name: their owners. */
export type PresentDatabases = ReadonlyMap<string, string>;

/** Reads the answer to `presentQuery`. */
export function presentIn(rows: readonly TextRow[]): PresentDatabases {
  return new Map(rows.filter((row) => !isLeft(row)).map(([name, owner]) => [name ?? "", owner ?? ""]));
}

/** Names of what is left of databases whose drop was broken off: they are still to be dropped. */
export function leftIn(rows: readonly TextRow[]): ReadonlySet<string> {
  return new Set(rows.filter(isLeft).map(([name]) => name ?? ""));
}

function isLeft([, , left]: TextRow): boolean {
  return left === "t";
}

type CatalogDatabase = BranchCatalog["databases"][number];

/**
 * Compares the databases that a server has with those that were brought into it. Roles of the API cannot be dropped or
 * altered by clients. Changes of the API that are still to be brought count more.
 *
 *   brought | in the server   | in the store       | so
 *   --------|-----------------|--------------------|------------------------------
 *   yes     | no              | yes                | clients have dropped it
 *   no      | yes             | no                 | clients have created it
 *   yes     | another owner   | the owner brought  | clients have given it away
 */
export function changesOfClients(
  applied: BranchCatalog,
  wanted: BranchCatalog,
  present: PresentDatabases,
): ChangedWithSql {
  const byID = new Map(applied.databases.map((one) => [one.id, one]));
  const unknown = new Map(applied.databases.filter(({ id }) => id === unknownId).map((one) => [one.name, one]));
  const brought = ({ id, name }: CatalogDatabase) => byID.get(id) ?? unknown.get(name);
  const known = new Set([...applied.databases, ...wanted.databases].map(({ name }) => name));
  return {
    dropped: wanted.databases.filter((one) => {
      const before = brought(one);
      return before && !present.has(before.name) && !present.has(one.name);
    }),
    given: wanted.databases.flatMap((one) => {
      const before = brought(one);
      const owner = present.get(before && present.has(before.name) ? before.name : one.name);
      const same = before?.ownerName === one.ownerName;
      return owner !== undefined && owner !== one.ownerName && same ? [{ ...one, ownerName: owner }] : [];
    }),
    created: [...present].filter(([name]) => !known.has(name)).map(([name, ownerName]) => ({ name, ownerName })),
  };
}

/**
 * The catalog of a server that has been compared: what was brought and is still there, if only in part, and what
 * clients have made.
 */
export function afterChanges(
  applied: BranchCatalog,
  wanted: BranchCatalog,
  present: PresentDatabases,
  left: ReadonlySet<string>,
): BranchCatalog {
  const brought = new Set(applied.databases.map(({ name }) => name));
  const isCreated = ({ name }: CatalogDatabase) => present.has(name) && !brought.has(name);
  return {
    ...applied,
    databases: [
      ...applied.databases.filter(({ name }) => present.has(name) || left.has(name)),
      ...wanted.databases.filter(isCreated),
    ].map((one) => ({ ...one, ownerName: present.get(one.name) ?? one.ownerName })),
  };
}
