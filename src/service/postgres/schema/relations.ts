import { collated, identity, isApart, type Kind, ownRelations, relations } from "./kind.ts";

const ownerOf = (word: string) => `format(E'\\n\\n\\nALTER ${word} %I.%I OWNER TO %I;', nspname, relname, rolname)`;
const options = `(SELECT format(E'\\nWITH (%s)', string_agg(format('%s=%L', split_part(o, '=', 1), substr(o, strpos(o, '=') + 1)),
  ', ')) FROM (SELECT unnest(c.reloptions) UNION ALL SELECT 'toast.' || unnest(o.reloptions) FROM pg_class o
    WHERE o.oid = c.reltoastrelid) all_of (o) HAVING count(*) > 0)`;

const columns = `SELECT string_agg(format('%I %s%s%s%s', attname, format_type(atttypid, atttypmod),
    ${collated("atttypid", "attcollation")},
    CASE WHEN attgenerated = 's' THEN format(' GENERATED ALWAYS AS (%s) STORED', pg_get_expr(adbin, adrelid))
      WHEN attgenerated = 'v' THEN format(' GENERATED ALWAYS AS (%s)', pg_get_expr(adbin, adrelid))
      WHEN f.oid IS NOT NULL AND NOT ${isApart("pg_attrdef", "f.oid")} THEN ' DEFAULT ' || pg_get_expr(adbin, adrelid) END,
    CASE WHEN attnotnull AND k.convalidated IS NOT false THEN concat(
      CASE WHEN conname <> relname || '_' || attname || '_not_null' THEN format(' CONSTRAINT %I', conname) END, ' NOT NULL',
      CASE WHEN connoinherit THEN ' NO INHERIT' END) END), E',\\n    ' ORDER BY attnum) AS text
  FROM pg_attribute LEFT JOIN pg_attrdef f ON adrelid = attrelid AND adnum = attnum
  LEFT JOIN pg_constraint k ON conrelid = attrelid AND contype = 'n' AND conkey = ARRAY[attnum]
  WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped AND (attislocal OR c.relispartition)`;

const checks = `SELECT string_agg(format(E',\\n    CONSTRAINT %I %s', conname, pg_get_constraintdef(oid)), '' ORDER BY conname) AS text
  FROM pg_constraint WHERE conrelid = c.oid AND contype = 'c' AND convalidated AND (conislocal OR c.relispartition)
    AND NOT ${isApart("pg_constraint", "oid")}`;

const parents = `SELECT format(E'\\nINHERITS (%s)', string_agg(inhparent::regclass::text, ', ' ORDER BY inhseqno)) AS text
  FROM pg_inherits WHERE inhrelid = c.oid AND NOT c.relispartition HAVING count(*) > 0`;

/** `NO MINVALUE`, or the bound where it is not the one that the type gives. */
const bounds = `concat_ws(E'\\n    ', 'START WITH ' || seqstart, 'INCREMENT BY ' || seqincrement,
  CASE WHEN seqmin = CASE WHEN seqincrement > 0 THEN 1 ELSE least.bound END THEN 'NO MINVALUE' ELSE 'MINVALUE ' || seqmin END,
  CASE WHEN seqmax = CASE WHEN seqincrement < 0 THEN -1 ELSE -(least.bound + 1) END THEN 'NO MAXVALUE' ELSE 'MAXVALUE ' || seqmax END,
  'CACHE ' || seqcache || CASE WHEN seqcycle THEN E'\\n    CYCLE' ELSE '' END)`;

const sequences = `pg_sequence s JOIN pg_class c ON c.oid = s.seqrelid JOIN pg_namespace n ON n.oid = c.relnamespace
  JOIN pg_roles r ON r.oid = c.relowner
  JOIN (VALUES ('smallint'::regtype, -32768::bigint), ('integer', -2147483648), ('bigint', -9223372036854775808)) least(type, bound)
    ON least.type = s.seqtypid
  LEFT JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.objsubid = 0
    AND d.refclassid = 'pg_class'::regclass AND d.deptype IN ('a', 'i') AND d.refobjsubid > 0
  LEFT JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid`;

/** Parents' columns of the same name as a column of a table that is no partition, which has them from these. */
const inherited = `pg_inherits JOIN pg_attribute p ON p.attrelid = inhparent AND p.attname = a.attname
  LEFT JOIN pg_attrdef d ON d.adrelid = p.attrelid AND d.adnum = p.attnum
  WHERE inhrelid = a.attrelid AND NOT c.relispartition AND NOT a.attislocal`;

/** Settings that only ALTER TABLE makes: of columns, of a row's identity in replication, and of owners. */
const settings = `(SELECT string_agg(text, '' ORDER BY place) FROM (
    SELECT attnum::int AS place, concat(
      CASE WHEN attnotnull AND EXISTS (SELECT FROM ${inherited}) AND CASE WHEN m.oid IS NULL
          THEN NOT EXISTS (SELECT FROM ${inherited} AND p.attnotnull) ELSE m.coninhcount = 0 AND m.convalidated END
        THEN CASE WHEN m.oid IS NULL THEN format(alter || 'SET NOT NULL;', attname)
          ELSE format(E'\\n\\nALTER TABLE ONLY %I.%I ADD CONSTRAINT %I %s;', nspname, relname, m.conname,
            pg_get_constraintdef(m.oid)) END END,
      CASE WHEN attstattarget >= 0 THEN format(alter || 'SET STATISTICS %s;', attname, attstattarget) END,
      CASE WHEN attstorage <> typstorage THEN format(alter || 'SET STORAGE %s;', attname, CASE attstorage
        WHEN 'p' THEN 'PLAIN' WHEN 'e' THEN 'EXTERNAL' WHEN 'm' THEN 'MAIN' ELSE 'EXTENDED' END) END,
      CASE attcompression WHEN 'p' THEN format(alter || 'SET COMPRESSION pglz;', attname)
        WHEN 'l' THEN format(alter || 'SET COMPRESSION lz4;', attname) END,
      CASE WHEN attoptions IS NOT NULL THEN format(alter || 'SET (%s);', attname, array_to_string(attoptions, ', ')) END) AS text
    FROM pg_attribute a JOIN pg_type t ON t.oid = atttypid
      LEFT JOIN pg_constraint m ON m.conrelid = attrelid AND m.contype = 'n' AND m.conkey = ARRAY[attnum],
      LATERAL (SELECT format(E'\\n\\nALTER TABLE ONLY %I.%I ALTER COLUMN %%I ', nspname, relname)) k(alter)
    WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped
    UNION ALL SELECT 32767, format(E'\\n\\nALTER TABLE ONLY %I.%I REPLICA IDENTITY %s;', nspname, relname,
      CASE relreplident WHEN 'f' THEN 'FULL' ELSE 'NOTHING' END) WHERE relreplident IN ('f', 'n')
    UNION ALL SELECT 32768, format(E'\\n\\nALTER TABLE ONLY %I.%I FORCE ROW LEVEL SECURITY;', nspname, relname)
      WHERE relforcerowsecurity) one)`;

const view = `format(E'VIEW %I.%I%s AS\\n%s', nspname, relname, replace(${options}, E'\\n', ' '), pg_get_viewdef(c.oid))`;

const queryOf = "(SELECT w.oid FROM pg_rewrite w WHERE ev_class = c.oid AND rulename = '_RETURN')";

/** A view of the columns alone, for those that need it before its query can be made. */
const emptyView = `format(E'VIEW %I.%I AS\\nSELECT%s;', nspname, relname, (SELECT string_agg(format(E'\\n    NULL::%s%s AS %I',
    format_type(atttypid, atttypmod), ${collated("atttypid", "attcollation")}, attname), ',' ORDER BY attnum)
  FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped))`;

/** Tables, views and sequences. */
export const relationKinds: readonly Kind[] = [
  {
    rank: 10,
    query: `SELECT ${identity("pg_class", "c.oid")}, 'TABLE', nspname, relname, rolname,
      format(E'CREATE %sTABLE %I.%I (%s%s\\n)%s%s%s;', CASE relpersistence WHEN 'u' THEN 'UNLOGGED ' ELSE '' END, nspname, relname,
        E'\\n    ' || columns.text, CASE WHEN columns.text IS NULL THEN substr(checks.text, 2) ELSE checks.text END, parents.text,
        E'\\nPARTITION BY ' || pg_get_partkeydef(c.oid), ${options})
      || coalesce(${settings}, '') || ${ownerOf("TABLE")}
      FROM ${relations} CROSS JOIN LATERAL (${columns}) columns CROSS JOIN LATERAL (${checks}) checks
      LEFT JOIN LATERAL (${parents}) parents ON true WHERE relkind IN ('r', 'p') AND ${ownRelations}`,
  },
  {
    rank: 10,
    query: `SELECT ${identity("pg_class", "c.oid")}, 'VIEW', nspname, relname, rolname,
      'CREATE ' || CASE WHEN ${isApart("pg_rewrite", queryOf)} THEN ${emptyView} ELSE ${view} END || ${ownerOf("VIEW")}
      FROM ${relations} WHERE relkind = 'v' AND ${ownRelations}`,
  },
  {
    rank: 24,
    query: `SELECT ${identity("pg_rewrite", queryOf)}, 'RULE', nspname, relname || ' _RETURN', rolname,
      'CREATE OR REPLACE ' || ${view}
      FROM ${relations} WHERE relkind IN ('v') AND ${isApart("pg_rewrite", queryOf)} AND ${ownRelations}`,
  },
  {
    rank: 10,
    query: `SELECT ${identity("pg_class", "c.oid")}, 'MATERIALIZED VIEW', nspname, relname, rolname,
      format(E'CREATE MATERIALIZED VIEW %I.%I%s AS\\n%s\\n  WITH NO DATA;', nspname, relname, ${options}, rtrim(pg_get_viewdef(c.oid), ';'))
      || coalesce(${settings}, '') || ${ownerOf("MATERIALIZED VIEW")} FROM ${relations} WHERE relkind = 'm' AND ${ownRelations}`,
  },
  {
    rank: 10,
    query: `SELECT ${identity("pg_class", "c.oid")}, 'SEQUENCE', nspname, relname, rolname,
      CASE WHEN d.deptype = 'i' THEN
        format(E'ALTER TABLE %s ALTER COLUMN %I ADD GENERATED %s AS IDENTITY (\\n    SEQUENCE NAME %I.%I\\n    %s\\n);',
          attrelid::regclass, attname, CASE attidentity WHEN 'a' THEN 'ALWAYS' ELSE 'BY DEFAULT' END, nspname, relname, ${bounds})
      ELSE format(E'CREATE %sSEQUENCE %I.%I\\n    %s%s;', CASE relpersistence WHEN 'u' THEN 'UNLOGGED ' END, nspname, relname,
          CASE WHEN seqtypid <> 'bigint'::regtype THEN 'AS ' || seqtypid::regtype || E'\\n    ' ELSE '' END, ${bounds})
        || ${ownerOf("SEQUENCE")} END FROM ${sequences} WHERE ${ownRelations}`,
  },
  {
    rank: 10,
    query: `SELECT 'owned/' || c.oid, 'SEQUENCE OWNED BY', nspname, relname, rolname,
      format('ALTER SEQUENCE %I.%I OWNED BY %s.%I;', nspname, relname, attrelid::regclass, attname)
      FROM ${sequences} WHERE attname IS NOT NULL AND d.deptype = 'a' AND ${ownRelations}`,
  },
  {
    rank: 12,
    query: `SELECT 'attached/' || c.oid, 'TABLE ATTACH', nspname, relname, rolname,
      format('ALTER TABLE ONLY %s ATTACH PARTITION %I.%I %s;', inhparent::regclass, nspname, relname, pg_get_expr(relpartbound, c.oid))
      FROM ${relations} JOIN pg_inherits ON inhrelid = c.oid WHERE relispartition AND relkind IN ('r', 'p') AND ${ownRelations}`,
  },
  {
    rank: 13,
    query: `SELECT ${identity("pg_attrdef", "f.oid")}, 'DEFAULT', nspname, relname || ' ' || attname, rolname,
      format('ALTER TABLE ONLY %I.%I ALTER COLUMN %I SET DEFAULT %s;', nspname, relname, attname, pg_get_expr(adbin, adrelid))
      FROM pg_attrdef f JOIN pg_class c ON c.oid = adrelid JOIN pg_namespace n ON n.oid = c.relnamespace
      JOIN pg_roles r ON r.oid = c.relowner JOIN pg_attribute a ON attrelid = adrelid AND attnum = adnum
      WHERE attgenerated = '' AND ${ownRelations} AND (${isApart("pg_attrdef", "f.oid")} OR relkind IN ('v') OR NOT (attislocal OR relispartition))`,
  },
  {
    rank: 13,
    query: `SELECT 'undone/' || attrelid || '/' || attnum, 'DEFAULT', nspname, relname || ' ' || attname, rolname,
      format('ALTER TABLE ONLY %I.%I ALTER COLUMN %I SET DEFAULT NULL;', nspname, relname, attname)
      FROM ${relations} JOIN pg_attribute a ON attrelid = c.oid
      WHERE attnum > 0 AND NOT atthasdef AND EXISTS (SELECT FROM ${inherited} AND d.oid IS NOT NULL) AND ${ownRelations}`,
  },
];
