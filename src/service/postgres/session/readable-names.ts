import type { Session } from "./privileged-role.ts";
import type { TextRow } from "./sql-client.ts";

/** Stands for bytes that are no UTF-8 in what was read. */
const unreadable = "\u{fffd}";

/**
 * Gives another name to databases and roles whose names are no UTF-8: in a database of another encoding a client may
 * make such ones, which no statement and no connection of the service, and no client of the proxy, could name.
 */
export async function makeNamesReadable(client: Session): Promise<void> {
  await client.query(renameUnreadable);
}

/** Answers the rows of a query for names of databases and roles, which can be read then. */
export async function readableRows(client: Session, query: string): Promise<readonly TextRow[]> {
  const rows = await client.query(query);
  if (!rows.flat().some((name) => name?.includes(unreadable))) return rows;
  await makeNamesReadable(client);
  return client.query(query);
}

/** The new name cannot be foreseen, so no client can have taken it. */
const renameUnreadable = `DO $$
  DECLARE one record;
  BEGIN
    FOR one IN SELECT 'DATABASE' AS kind, oid, datname AS name FROM pg_database
      UNION ALL SELECT 'ROLE', oid, rolname FROM pg_roles
    LOOP
      BEGIN
        PERFORM convert_from(textsend(one.name::text), 'UTF8');
      EXCEPTION WHEN character_not_in_repertoire THEN
        EXECUTE format('ALTER %s %I RENAME TO %I', one.kind, one.name,
          lower(one.kind) || '_' || one.oid || '_' || left(gen_random_uuid()::text, 8));
      END;
    END LOOP;
  END $$`;
