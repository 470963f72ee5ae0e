/**
 * A kind of object in a schema: a query that writes the statements of each one, in the words of pg_dump. Its columns:
 * the object as `catalogue/oid`, type, schema, name, owner, statements. It runs with `search_path = pg_catalog`, so
 * every name of a client's is written in full and no object of a client's is called.
 */
export interface Kind {
  /** Objects are written in the order of their kinds, unless one needs another. */
  rank: number;
  query: string;
}

/** Schemas that are no client's. */
export const ownSchemas = `n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'`;

/** Leaves out what an extension has made. */
export function notOfExtension(catalogue: string, oid: string): string {
  return `NOT EXISTS (SELECT FROM pg_depend e WHERE e.deptype = 'e' AND e.objid = ${oid}
    AND e.classid = '${catalogue}'::regclass)`;
}

/** Relations with their schemas and owners. */
export const relations =
  "pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_roles r ON r.oid = c.relowner";

/** Leaves the relations of clients. */
export const ownRelations = `${ownSchemas} AND ${notOfExtension("pg_class", "c.oid")}`;

/** A trigger's change to the state in which a column says that it is. */
export function enabled(column: string): string {
  return `CASE ${column} WHEN 'D' THEN 'DISABLE' WHEN 'A' THEN 'ENABLE ALWAYS' WHEN 'R' THEN 'ENABLE REPLICA' ELSE 'ENABLE' END`;
}

/** The object's identity, as dependencies name it. */
export function identity(catalogue: string, oid: string): string {
  return `'${catalogue}/' || ${oid}::text`;
}

/** The setting that names, for each query, the parts that stand apart from their owners. */
export const apartSetting = "compute_operator.apart";

/** Leaves the parts that are not written in their owners' statements. */
export function isApart(catalogue: string, oid: string): string {
  return `${identity(catalogue, oid)} IN (SELECT unnest(current_setting('${apartSetting}')::text[]))`;
}

/** The collation of what has a type, where it is another one than the type's. */
export function collated(type: string, collation: string): string {
  return `(SELECT format(' COLLATE %s.%I', l.collnamespace::regnamespace, l.collname) FROM pg_collation l, pg_type b
      WHERE l.oid = ${collation} AND b.oid = ${type} AND l.oid <> b.typcollation)`;
}
