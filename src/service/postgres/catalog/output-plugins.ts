import { type Connected, insideDatabases } from "../session/inside-database.ts";

/**
 * Keeps clients from naming a file as the output plugin of a replication slot: a server would load any file of the
 * machine, with what a client may have had it write. In every database, the functions that make slots take the plugin
 * as a domain of names without a path; the proxy looks after the command for it (`proxy/replication-commands.ts`).
 */
export async function guardOutputPlugins(connected: Connected): Promise<void> {
  // Also in the templates, as new databases are copies of them; -2 marks what is left of one that was dropped.
  await insideDatabases(connected, "datconnlimit <> -2", (inside) => inside.query(guardFunctions));
}

/** Postgres checks a domain wherever it calls a function of one. */
const guardFunctions = `DO $$
  BEGIN
    IF to_regtype('pg_catalog.output_plugin') IS NOT NULL THEN RETURN; END IF;
    CREATE DOMAIN pg_catalog.output_plugin AS name
      CONSTRAINT "an output plugin is named without a path" CHECK (strpos(VALUE::text, '/') = 0);
    UPDATE pg_proc SET
      proargtypes = (SELECT string_agg(CASE proargnames[place] WHEN 'plugin' THEN 'pg_catalog.output_plugin'::regtype::oid
        ELSE type END::text, ' ' ORDER BY place) FROM unnest(proargtypes::oid[]) WITH ORDINALITY one (type, place))::oidvector,
      proallargtypes = ARRAY(SELECT CASE proargnames[place] WHEN 'plugin' THEN 'pg_catalog.output_plugin'::regtype::oid
        ELSE type END FROM unnest(proallargtypes) WITH ORDINALITY one (type, place) ORDER BY place)
      WHERE pronamespace = 'pg_catalog'::regnamespace AND 'plugin' = ANY (proargnames)
        AND proname IN ('pg_create_logical_replication_slot', 'pg_copy_logical_replication_slot');
  END $$`;
