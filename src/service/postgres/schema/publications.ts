import { enabled, identity, type Kind, notOfExtension } from "./kind.ts";

const publications = `pg_publication p JOIN pg_roles r ON r.oid = pubowner`;

/** Columns by number, in the order in which the publication names them. */
const publishedColumns = `(SELECT format(' (%s)', string_agg(quote_ident(attname), ', ' ORDER BY place))
  FROM unnest(prattrs::int2[]) WITH ORDINALITY k(number, place)
  JOIN pg_attribute ON attrelid = prrelid AND attnum = number HAVING count(*) > 0)`;

/** Publications and event triggers: what belongs to a database as a whole. */
export const publicationsAndEvents: readonly Kind[] = [
  {
    rank: 28,
    query: `SELECT ${identity("pg_publication", "p.oid")}, 'PUBLICATION', '-', pubname, rolname,
      format('CREATE PUBLICATION %I%s WITH (publish = %L%s%s);', pubname, CASE WHEN puballtables THEN ' FOR ALL TABLES' END,
        concat_ws(', ', CASE WHEN pubinsert THEN 'insert' END, CASE WHEN pubupdate THEN 'update' END, CASE WHEN pubdelete THEN 'delete' END,
          CASE WHEN pubtruncate THEN 'truncate' END),
        CASE WHEN pubviaroot THEN ', publish_via_partition_root = true' END,
        CASE to_jsonb(p) ->> 'pubgencols' WHEN 's' THEN ', publish_generated_columns = stored' END)
      || format(E'\\n\\n\\nALTER PUBLICATION %I OWNER TO %I;', pubname, rolname) FROM ${publications}`,
  },
  {
    rank: 29,
    query: `SELECT ${identity("pg_publication_rel", "t.oid")}, 'PUBLICATION TABLE', nspname, pubname || ' ' || relname, rolname,
      format('ALTER PUBLICATION %I ADD TABLE ONLY %I.%I%s%s;', pubname, nspname, relname, ${publishedColumns},
        ' WHERE (' || pg_get_expr(prqual, prrelid) || ')')
      FROM pg_publication_rel t JOIN ${publications} ON p.oid = prpubid JOIN pg_class c ON c.oid = prrelid
      JOIN pg_namespace n ON n.oid = relnamespace`,
  },
  {
    rank: 30,
    query: `SELECT ${identity("pg_publication_namespace", "t.oid")}, 'PUBLICATION TABLES IN SCHEMA', nspname, pubname || ' ' || nspname,
      rolname, format('ALTER PUBLICATION %I ADD TABLES IN SCHEMA %I;', pubname, nspname)
      FROM pg_publication_namespace t JOIN ${publications} ON p.oid = pnpubid JOIN pg_namespace n ON n.oid = pnnspid`,
  },
  {
    rank: 31,
    query: `SELECT ${identity("pg_event_trigger", "v.oid")}, 'EVENT TRIGGER', '-', evtname, rolname,
      format(E'CREATE EVENT TRIGGER %I ON %s%s\\n   EXECUTE FUNCTION %s();', evtname, evtevent,
        (SELECT format(E'\\n         WHEN TAG IN (%s)', string_agg(quote_literal(tag), ', ' ORDER BY place))
          FROM unnest(evttags) WITH ORDINALITY g(tag, place) HAVING count(*) > 0), evtfoid::regproc)
      || CASE evtenabled WHEN 'O' THEN '' ELSE format(E'\\n\\nALTER EVENT TRIGGER %I %s;', evtname,
          ${enabled("evtenabled")}) END
      || format(E'\\n\\n\\nALTER EVENT TRIGGER %I OWNER TO %I;', evtname, rolname)
      FROM pg_event_trigger v JOIN pg_roles r ON r.oid = evtowner WHERE ${notOfExtension("pg_event_trigger", "v.oid")}`,
  },
];
