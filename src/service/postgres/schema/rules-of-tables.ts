import { enabled, identity, isApart, type Kind, notOfExtension, ownRelations, ownSchemas, relations } from "./kind.ts";

/** Settings of a table that name an index: the order of rows on the disk, and their identity in replication. */
function usesOfIndex(index: string, isOwn: string): string {
  return `coalesce((SELECT concat(
      CASE WHEN indisclustered THEN format(E'\\n\\nALTER TABLE %I.%I CLUSTER ON %I;', nspname, c.relname, o.relname) END,
      CASE WHEN indisreplident THEN
        format(E'\\n\\nALTER TABLE ONLY %I.%I REPLICA IDENTITY USING INDEX %I;', nspname, c.relname, o.relname) END)
    FROM pg_index u JOIN pg_class o ON o.oid = u.indexrelid WHERE u.indexrelid = ${index} AND ${isOwn}), '')`;
}

function constraints(rank: number, type: string, which: string): Kind {
  return {
    rank,
    query: `SELECT ${identity("pg_constraint", "k.oid")}, '${type}', nspname, relname || ' ' || conname, rolname,
      format(E'ALTER TABLE %s%I.%I\\n    ADD CONSTRAINT %I %s;', CASE WHEN contype IN ('c', 'n') OR relkind = 'p' AND contype = 'f' THEN '' ELSE 'ONLY ' END,
        nspname, relname, conname, pg_get_constraintdef(k.oid)) || ${usesOfIndex("conindid", "contype IN ('p', 'u', 'x')")}
      FROM pg_constraint k JOIN ${relations} ON c.oid = conrelid WHERE (${which}) AND ${ownRelations}`,
  };
}

/** Constraints, indexes, triggers and policies: what holds for the rows of tables. */
export const rulesOfTables: readonly Kind[] = [
  constraints(
    20,
    "CHECK CONSTRAINT",
    `contype = 'c' AND conislocal AND (NOT convalidated OR ${isApart("pg_constraint", "k.oid")})`,
  ),
  {
    rank: 20,
    query: `SELECT ${identity("pg_constraint", "k.oid")}, 'CHECK CONSTRAINT', nspname, typname || ' ' || conname, rolname,
      format(E'ALTER DOMAIN %I.%I\\n    ADD CONSTRAINT %I %s;', nspname, typname, conname, pg_get_constraintdef(k.oid))
      FROM pg_constraint k JOIN pg_type t ON t.oid = contypid JOIN pg_namespace n ON n.oid = typnamespace
      JOIN pg_roles r ON r.oid = typowner
      WHERE (NOT convalidated OR ${isApart("pg_constraint", "k.oid")}) AND ${ownSchemas} AND ${notOfExtension("pg_type", "t.oid")}`,
  },
  constraints(20, "CONSTRAINT", "contype IN ('p', 'u', 'x') OR contype = 'n' AND conislocal AND NOT convalidated"),
  {
    rank: 21,
    query: `SELECT ${identity("pg_class", "i.oid")}, 'INDEX', nspname, i.relname, rolname, pg_get_indexdef(i.oid) || ';'
        || coalesce((SELECT string_agg(format(E'\\n\\nALTER INDEX %I.%I ALTER COLUMN %s SET STATISTICS %s;', nspname, i.relname,
            attnum, attstattarget), '' ORDER BY attnum) FROM pg_attribute WHERE attrelid = i.oid AND attstattarget >= 0), '')
        || ${usesOfIndex("i.oid", "true")}
      FROM pg_index x JOIN pg_class i ON i.oid = indexrelid JOIN ${relations} ON c.oid = indrelid
      WHERE NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = i.oid AND contype IN ('p', 'u', 'x')) AND ${ownRelations}
        AND (indisvalid OR c.relkind = 'p')`,
  },
  {
    rank: 22,
    query: `SELECT 'attached/' || i.oid, 'INDEX ATTACH', nspname, i.relname, rolname,
      format('ALTER INDEX %s ATTACH PARTITION %I.%I;', inhparent::regclass, nspname, i.relname)
      FROM pg_inherits JOIN pg_class i ON i.oid = inhrelid AND i.relkind IN ('i', 'I') JOIN pg_index ON indexrelid = i.oid
      JOIN ${relations} ON c.oid = indrelid WHERE ${ownRelations}`,
  },
  {
    rank: 23,
    query: `SELECT ${identity("pg_statistic_ext", "s.oid")}, 'STATISTICS', nspname, stxname, rolname, 
      format(E'%s;%s\\n\\n\\nALTER STATISTICS %I.%I OWNER TO %I;', pg_get_statisticsobjdef(s.oid),
        CASE WHEN stxstattarget >= 0 THEN format(E'\\n\\nALTER STATISTICS %I.%I SET STATISTICS %s;', nspname, stxname,
          stxstattarget) END, nspname, stxname, rolname)
      FROM pg_statistic_ext s JOIN pg_namespace n ON n.oid = stxnamespace JOIN pg_roles r ON r.oid = stxowner WHERE ${ownSchemas}`,
  },
  {
    rank: 24,
    query: `SELECT ${identity("pg_rewrite", "w.oid")}, 'RULE', nspname, relname || ' ' || rulename, rolname, pg_get_ruledef(w.oid)
      || CASE ev_enabled WHEN 'O' THEN '' ELSE format(E'\\n\\nALTER TABLE %I.%I %s RULE %I;', nspname, relname,
        ${enabled("ev_enabled")}, rulename) END
      FROM pg_rewrite w JOIN ${relations} ON c.oid = ev_class WHERE rulename <> '_RETURN' AND ${ownRelations}`,
  },
  {
    rank: 25,
    query: `SELECT ${identity("pg_trigger", "t.oid")}, 'TRIGGER', nspname, relname || ' ' || tgname, rolname,
      pg_get_triggerdef(t.oid) || ';' || CASE tgenabled WHEN 'O' THEN '' ELSE format(E'\\n\\nALTER TABLE %I.%I %s TRIGGER %I;', nspname,
        relname, ${enabled("tgenabled")}, tgname) END
      FROM pg_trigger t JOIN ${relations} ON c.oid = tgrelid WHERE NOT tgisinternal AND tgparentid = 0 AND ${ownRelations}`,
  },
  {
    rank: 25,
    query: `SELECT ${identity("pg_trigger", "t.oid")}, 'TRIGGER', nspname, relname || ' ' || t.tgname, rolname,
      format('ALTER TABLE %I.%I %s TRIGGER %I;', nspname, relname, ${enabled("t.tgenabled")}, t.tgname)
      FROM pg_trigger t JOIN pg_trigger o ON o.oid = t.tgparentid AND o.tgenabled <> t.tgenabled
      JOIN ${relations} ON c.oid = t.tgrelid WHERE NOT t.tgisinternal AND ${ownRelations}`,
  },
  constraints(26, "FK CONSTRAINT", "contype = 'f' AND conparentid = 0"),
  {
    rank: 27,
    query: `SELECT 'security/' || c.oid, 'ROW SECURITY', nspname, relname, rolname,
      format('ALTER TABLE %I.%I ENABLE ROW LEVEL SECURITY;', nspname, relname)
      FROM ${relations} WHERE relrowsecurity AND ${ownRelations}`,
  },
  {
    rank: 27,
    query: `SELECT ${identity("pg_policy", "p.oid")}, 'POLICY', nspname, relname || ' ' || polname, rolname,
      format('CREATE POLICY %I ON %I.%I%s%s%s%s%s;', polname, nspname, relname,
        CASE WHEN NOT polpermissive THEN ' AS RESTRICTIVE' END,
        CASE polcmd WHEN 'r' THEN ' FOR SELECT' WHEN 'a' THEN ' FOR INSERT' WHEN 'w' THEN ' FOR UPDATE' WHEN 'd' THEN ' FOR DELETE' END,
        (SELECT ' TO ' || string_agg(quote_ident(m.rolname), ', ' ORDER BY m.rolname) FROM pg_roles m WHERE m.oid = ANY (polroles)),
        NULLIF(format(' USING (%s)', pg_get_expr(polqual, polrelid)), ' USING ()'), NULLIF(format(' WITH CHECK (%s)', pg_get_expr(polwithcheck, polrelid)), ' WITH CHECK ()'))
      FROM pg_policy p JOIN ${relations} ON c.oid = polrelid WHERE ${ownRelations}`,
  },
];
