import { type Connected, databasesThat, insideDatabase } from "../session/inside-database.ts";
import type { Session } from "../session/privileged-role.ts";
import { Attempts } from "./attempts.ts";

/**
 * Keeps clients, in every database, from what leads further than their branch. One that cannot be entered keeps no
 * other one unguarded, and one that a client copies meanwhile is guarded too; the first failure is thrown at the end.
 */
export async function guardDatabases(connected: Connected): Promise<void> {
  const attempts = new Attempts(connected.client);
  const tried = new Set<string>();
  // Also in the templates, as new databases are copies of them; -2 marks what is left of one that was dropped.
  const left = async () =>
    (await databasesThat(connected.client, "datconnlimit <> -2")).filter(({ oid }) => !tried.has(oid));
  for (let some = await left(); some.length > 0; some = await left()) {
    for (const one of some) {
      tried.add(one.oid);
      await attempts.make(() => insideDatabase(connected, one.name, guard));
    }
  }
  attempts.end();
}

async function guard(inside: Session): Promise<void> {
  await inside.query(outputPlugins);
  await inside.query(systemViews);
}

/**
 * No client names a file as the output plugin of a replication slot: a server would load any file of the machine, with
 * what a client may have had it write. The functions that make slots take the plugin as a domain of names without a
 * path, and Postgres checks a domain wherever it calls one; the proxy looks after the command
 * (`proxy/replication-commands.ts`).
 */
const outputPlugins = `DO $$
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

/**
 * No client writes the catalogues through the views on them, as which the superuser would: `pg_write_all_data` counts
 * for views, and `pg_group` renames roles. A write that Postgres would carry out on its own does nothing.
 */
const systemViews = `DO $$
  DECLARE one record;
  BEGIN
    FOR one IN SELECT c.oid::regclass AS name, event, place FROM pg_class c,
        unnest('{UPDATE,INSERT,DELETE}'::text[]) WITH ORDINALITY written (event, place)
      WHERE relkind = 'v' AND relnamespace IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)
        AND pg_relation_is_updatable(c.oid, false) & (2 << place::int) <> 0
        AND NOT EXISTS (SELECT FROM pg_rewrite WHERE ev_class = c.oid AND ev_type = (place + 1)::text::"char")
    LOOP
      EXECUTE format('CREATE RULE %I AS ON %s TO %s DO INSTEAD NOTHING', 'no ' || one.event, one.event, one.name);
    END LOOP;
  END $$`;
