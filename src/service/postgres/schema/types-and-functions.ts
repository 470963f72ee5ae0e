import { collated, identity, isApart, type Kind, notOfExtension, ownSchemas } from "./kind.ts";

const modify = (letter: string, usual: string) => `CASE ${letter} WHEN ${usual} THEN NULL WHEN 'r' THEN 'READ_ONLY'
  WHEN 's' THEN 'SHAREABLE' ELSE 'READ_WRITE' END`;
const usualModify = "CASE aggkind WHEN 'n' THEN 'r' ELSE 'w' END";
const ifSet = (fn: string) => `CASE WHEN ${fn} <> 0 THEN ${fn}::text END`;

/** All that makes an aggregate, in pg_dump's order. */
const aggregateParts = `SELECT string_agg(concat('    ' || part, ' = ' || nullif(value, '')), E',\\n' ORDER BY place) FROM (VALUES
  (1, 'SFUNC', aggtransfn::text), (2, 'STYPE', format_type(aggtranstype, NULL)),
  (3, 'SSPACE', nullif(aggtransspace, 0)::text), (4, 'INITCOND', quote_literal(agginitval)),
  (5, 'FINALFUNC', ${ifSet("aggfinalfn")}), (6, 'FINALFUNC_EXTRA', CASE WHEN aggfinalextra THEN '' END),
  (7, 'FINALFUNC_MODIFY', ${modify("aggfinalmodify", usualModify)}), (8, 'COMBINEFUNC', ${ifSet("aggcombinefn")}),
  (9, 'SERIALFUNC', ${ifSet("aggserialfn")}), (10, 'DESERIALFUNC', ${ifSet("aggdeserialfn")}),
  (11, 'MSFUNC', ${ifSet("aggmtransfn")}), (12, 'MINVFUNC', ${ifSet("aggminvtransfn")}),
  (13, 'MSTYPE', CASE WHEN aggmtranstype <> 0 THEN format_type(aggmtranstype, NULL) END),
  (14, 'MSSPACE', nullif(aggmtransspace, 0)::text), (15, 'MINITCOND', quote_literal(aggminitval)),
  (16, 'MFINALFUNC', ${ifSet("aggmfinalfn")}), (17, 'MFINALFUNC_EXTRA', CASE WHEN aggmfinalextra THEN '' END),
  (18, 'MFINALFUNC_MODIFY', CASE WHEN aggmtranstype <> 0 THEN ${modify("aggmfinalmodify", usualModify)} END),
  (19, 'SORTOP', (SELECT format('OPERATOR(%s.%s)', oprnamespace::regnamespace, oprname) FROM pg_operator o WHERE o.oid = aggsortop)),
  (20, 'HYPOTHETICAL', CASE aggkind WHEN 'h' THEN '' END),
  (21, 'PARALLEL', CASE proparallel WHEN 's' THEN 'safe' WHEN 'r' THEN 'restricted' END)) v(place, part, value) WHERE value IS NOT NULL`;

/** Schemas, extensions, types and functions: what tables are made of. */
export const typesAndFunctions: readonly Kind[] = [
  {
    rank: 1,
    query: `SELECT ${identity("pg_namespace", "n.oid")}, 'SCHEMA', '-', nspname, rolname,
      format(E'CREATE SCHEMA %I;\\n\\n\\nALTER SCHEMA %1$I OWNER TO %2$I;', nspname, rolname)
      FROM pg_namespace n JOIN pg_roles r ON r.oid = nspowner
      WHERE ${ownSchemas} AND nspname <> 'public' AND ${notOfExtension("pg_namespace", "n.oid")}`,
  },
  {
    rank: 1,
    query: `SELECT 'comment/' || n.oid, 'COMMENT', '-', 'SCHEMA public', rolname, format('COMMENT ON SCHEMA public IS %L;', text)
      FROM pg_namespace n JOIN pg_roles r ON r.oid = nspowner,
        LATERAL (SELECT coalesce(obj_description(n.oid, 'pg_namespace'), '')) d(text)
      WHERE nspname = 'public' AND text <> 'standard public schema'`,
  },
  {
    rank: 1,
    query: `SELECT ${identity("pg_collation", "l.oid")}, 'COLLATION', nspname, collname, rolname,
      format(E'CREATE COLLATION %I.%I (provider = %s%s%s%s);\\n\\n\\nALTER COLLATION %1$I.%2$I OWNER TO %7$I;', nspname, collname,
        CASE collprovider WHEN 'i' THEN 'icu' WHEN 'b' THEN 'builtin' ELSE 'libc' END,
        CASE WHEN NOT collisdeterministic THEN ', deterministic = false' END,
        CASE WHEN locale IS NOT NULL THEN format(', locale = %L', locale)
          WHEN collcollate = collctype THEN format(', locale = %L', collcollate)
          ELSE format(', lc_collate = %L, lc_ctype = %L', collcollate, collctype) END,
        ', rules = ' || quote_literal(to_jsonb(l) ->> 'collicurules'), rolname)
      FROM pg_collation l JOIN pg_namespace n ON n.oid = collnamespace JOIN pg_roles r ON r.oid = collowner,
        LATERAL (SELECT coalesce(to_jsonb(l) ->> 'colllocale', to_jsonb(l) ->> 'colliculocale')) own(locale)
      WHERE ${ownSchemas} AND ${notOfExtension("pg_collation", "l.oid")}`,
  },
  {
    rank: 2,
    query: `SELECT ${identity("pg_extension", "x.oid")}, 'EXTENSION', '-', extname, '',
      format('CREATE EXTENSION IF NOT EXISTS %I WITH SCHEMA %I;', extname, nspname)
      FROM pg_extension x JOIN pg_namespace n ON n.oid = extnamespace WHERE extname <> 'plpgsql'`,
  },
  {
    rank: 3,
    query: `SELECT ${identity("pg_type", "t.oid")}, CASE typtype WHEN 'd' THEN 'DOMAIN' ELSE 'TYPE' END, nspname, typname,
      rolname, CASE typtype
        WHEN 'e' THEN (SELECT format(E'CREATE TYPE %I.%I AS ENUM (\\n    %s\\n);', nspname, typname,
            string_agg(quote_literal(enumlabel), E',\\n    ' ORDER BY enumsortorder)) FROM pg_enum WHERE enumtypid = t.oid)
        WHEN 'c' THEN format(E'CREATE TYPE %I.%I AS (%s\\n);', nspname, typname,
          (SELECT string_agg(format(E'\\n\\t%I %s%s', attname, format_type(atttypid, atttypmod), ${collated("atttypid", "attcollation")}), ',' ORDER BY attnum)
            FROM pg_attribute WHERE attrelid = typrelid AND attnum > 0 AND NOT attisdropped))
        WHEN 'r' THEN (SELECT format(E'CREATE TYPE %I.%I AS RANGE (\\n    subtype = %s,\\n    multirange_type_name = %s%s%s%s\\n);',
            nspname, typname, format_type(rngsubtype, NULL), rngmultitypid::regtype,
            (SELECT format(E',\\n    subtype_opclass = %s.%I', opcnamespace::regnamespace, opcname) FROM pg_opclass p
              WHERE p.oid = rngsubopc AND NOT opcdefault),
            E',\\n    collation =' || substr(${collated("rngsubtype", "rngcollation")}, 9),
            E',\\n    subtype_diff = ' || nullif(rngsubdiff::oid, 0)::regproc) FROM pg_range WHERE rngtypid = t.oid)
        ELSE format('CREATE DOMAIN %I.%I AS %s%s%s%s%s;', nspname, typname, format_type(typbasetype, typtypmod),
          ${collated("t.typbasetype", "t.typcollation")},
          CASE WHEN typnotnull THEN concat((SELECT format(' CONSTRAINT %I', conname) FROM pg_constraint
            WHERE contypid = t.oid AND contype = 'n' AND conname <> typname || '_not_null'), ' NOT NULL') END, ' DEFAULT ' || pg_get_expr(typdefaultbin, 0),
          (SELECT string_agg(format(E'\\n\\tCONSTRAINT %I %s', conname, pg_get_constraintdef(k.oid)), '' ORDER BY conname)
            FROM pg_constraint k WHERE contypid = t.oid AND contype = 'c' AND convalidated
              AND NOT ${isApart("pg_constraint", "k.oid")})) END
      || format(E'\\n\\n\\nALTER %s %I.%I OWNER TO %I;',
        CASE typtype WHEN 'd' THEN 'DOMAIN' ELSE 'TYPE' END, nspname, typname, rolname)
      FROM pg_type t JOIN pg_namespace n ON n.oid = typnamespace JOIN pg_roles r ON r.oid = typowner
      LEFT JOIN pg_class c ON c.oid = typrelid
      WHERE ${ownSchemas} AND (typtype IN ('e', 'd', 'r') OR c.relkind = 'c') AND ${notOfExtension("pg_type", "t.oid")}`,
  },
  {
    rank: 4,
    query: `SELECT ${identity("pg_proc", "p.oid")}, CASE prokind WHEN 'p' THEN 'PROCEDURE' ELSE 'FUNCTION' END, nspname,
      format('%I(%s)', proname, pg_get_function_identity_arguments(p.oid)), rolname,
      rtrim(regexp_replace(pg_get_functiondef(p.oid), '^CREATE OR REPLACE ', 'CREATE '), E'\\n') || ';'
      || format(E'\\n\\n\\nALTER %s %s OWNER TO %I;', CASE prokind WHEN 'p' THEN 'PROCEDURE' ELSE 'FUNCTION' END,
        p.oid::regprocedure, rolname)
      FROM pg_proc p JOIN pg_namespace n ON n.oid = pronamespace JOIN pg_roles r ON r.oid = proowner
      WHERE ${ownSchemas} AND prokind <> 'a' AND ${notOfExtension("pg_proc", "p.oid")}
      AND NOT EXISTS (SELECT FROM pg_depend i WHERE i.classid = 'pg_proc'::regclass AND i.objid = p.oid AND i.deptype = 'i')`,
  },
  {
    rank: 5,
    query: `SELECT ${identity("pg_proc", "p.oid")}, 'AGGREGATE', nspname,
      format('%I(%s)', proname, pg_get_function_identity_arguments(p.oid)), rolname,
      format(E'CREATE AGGREGATE %I.%I(%s) (\\n%s\\n);\\n\\n\\nALTER AGGREGATE %1$I.%2$I(%3$s) OWNER TO %5$I;', nspname, proname,
        coalesce(nullif(pg_get_function_identity_arguments(p.oid), ''), '*'), (${aggregateParts}), rolname)
      FROM pg_aggregate a JOIN pg_proc p ON p.oid = a.aggfnoid JOIN pg_namespace n ON n.oid = pronamespace
      JOIN pg_roles r ON r.oid = proowner WHERE ${ownSchemas} AND ${notOfExtension("pg_proc", "p.oid")}`,
  },
];
