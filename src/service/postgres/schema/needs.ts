import { madeOnce } from "../../made-once.ts";
import type { TextRow } from "../session/sql-client.ts";
import { each, Steps } from "./steps.ts";

/** Objects that each object needs before it, by their ids. */
export interface Needs {
  needed: ReadonlyMap<string, readonly string[]>;
  /** Parts that are no part of their owner's statement, but come after it. */
  apart: ReadonlySet<string>;
}

/**
 * Dependencies between objects, as the rows of `dependencies`. A part, such as a column's default, is written in its
 * owner's statement, so the owner needs what the part needs. Where this is a circle, the part stands apart, as in
 * pg_dump: a column's own sequence belongs to the table, so the default comes after both.
 */
export async function needsOf(rows: readonly TextRow[]): Promise<Needs> {
  const needed = new Map<string, string[]>();
  const neededBy = new Map<string, string[]>();
  const owners = new Map<string, string>();
  const parts = new Map<string, string[]>();
  const add = (one: string, other: string) => {
    madeOnce(needed, one, () => []).push(other);
    madeOnce(neededBy, other, () => []).push(one);
  };
  await each(rows, ([one, other, isOwner]) => {
    if (isOwner !== "t") return add(one ?? "", other ?? "");
    owners.set(one ?? "", other ?? "");
    madeOnce(parts, other ?? "", () => []).push(one ?? "");
    add(other ?? "", one ?? "");
  });
  const finished: string[] = [];
  await walk(
    needed.keys(),
    (id) => needed.get(id) ?? [],
    (id) => finished.push(id),
  );
  // Kosaraju's circles: all that one of them is needed by, backwards, begins at the same object.
  const circles = new Map<string, string>();
  await walk(
    finished.toReversed(),
    (id) => neededBy.get(id) ?? [],
    (id, first) => circles.set(id, first),
  );
  const apart = new Set<string>();
  await each(parts, ([owner, ids]) => {
    const inside = ids.filter((id) => circles.get(id) !== circles.get(owner));
    for (const id of ids.filter((one) => circles.get(one) === circles.get(owner))) {
      apart.add(id);
      madeOnce(needed, id, () => []).push(owner);
    }
    const others = (needed.get(owner) ?? []).filter((id) => owners.get(id) !== owner);
    needed.set(owner, [...others, ...inside.flatMap((id) => needed.get(id) ?? [])]);
  });
  return { needed, apart };
}

/** Goes through all that can be reached, depth first. A client's chain of views may be longer than a stack of calls. */
export async function walk(
  roots: Iterable<string>,
  next: (id: string) => readonly string[],
  leave: (id: string, root: string) => void,
): Promise<void> {
  const seen = new Set<string>();
  const steps = new Steps();
  for (const root of roots) {
    if (seen.has(root)) continue;
    seen.add(root);
    const path = [{ id: root, left: next(root).values() }];
    for (let top = path.at(-1); top; top = path.at(-1)) {
      await steps.next();
      const { value } = top.left.next();
      if (value === undefined) {
        leave(top.id, root);
        path.pop();
      } else if (!seen.has(value)) {
        seen.add(value);
        path.push({ id: value, left: next(value).values() });
      }
    }
  }
}

/**
 * Dependencies of clients' objects: the object, what it needs, and whether it is a part of it: a table's defaults and
 * checks, a domain's checks, and a view's query.
 */
export const dependencies = `WITH named AS (
    SELECT CASE WHEN w.rulename = '_RETURN' AND h.relkind = 'm' OR a.attgenerated <> '' THEN 'pg_class/' || h.oid
        WHEN oc.oid IS NOT NULL THEN 'pg_type/' || oc.reltype ELSE d.classid::regclass || '/' || d.objid END AS id,
      CASE WHEN g.rngtypid IS NOT NULL THEN 'pg_type/' || g.rngtypid
        WHEN t.typrelid <> 0 AND c.relkind <> 'c' THEN 'pg_class/' || t.typrelid
        WHEN e.typrelid <> 0 AND ec.relkind <> 'c' THEN 'pg_class/' || e.typrelid
        WHEN e.oid IS NOT NULL THEN 'pg_type/' || e.oid
        WHEN rc.oid IS NOT NULL THEN 'pg_type/' || rc.reltype
        WHEN i.objid IS NOT NULL THEN 'pg_type/' || i.refobjid
        WHEN n.oid IS NOT NULL THEN 'pg_constraint/' || n.oid
        ELSE d.refclassid::regclass || '/' || d.refobjid END AS needed,
      CASE WHEN w.rulename = '_RETURN' AND h.relkind = 'v' OR k.conrelid <> 0 AND (k.conislocal OR h.relispartition)
          OR a.attgenerated = '' AND h.relkind IN ('r', 'p') AND (a.attislocal OR h.relispartition) THEN 'pg_class/' || h.oid
        WHEN k.contypid <> 0 THEN 'pg_type/' || k.contypid END AS owner
    FROM pg_depend d
    LEFT JOIN pg_rewrite w ON d.classid = 'pg_rewrite'::regclass AND w.oid = d.objid
    LEFT JOIN pg_attrdef f ON d.classid = 'pg_attrdef'::regclass AND f.oid = d.objid
    LEFT JOIN pg_attribute a ON a.attrelid = f.adrelid AND a.attnum = f.adnum
    LEFT JOIN pg_constraint k ON d.classid = 'pg_constraint'::regclass AND k.oid = d.objid AND k.contype = 'c' AND k.convalidated
    LEFT JOIN pg_class h ON h.oid = coalesce(w.ev_class, f.adrelid, k.conrelid)
    LEFT JOIN pg_class oc ON d.classid = 'pg_class'::regclass AND oc.oid = d.objid AND oc.relkind = 'c'
    LEFT JOIN pg_type t ON d.refclassid = 'pg_type'::regclass AND t.oid = d.refobjid
    LEFT JOIN pg_class c ON c.oid = t.typrelid
    LEFT JOIN pg_type e ON e.typarray = t.oid AND t.oid <> 0
    LEFT JOIN pg_class ec ON ec.oid = e.typrelid
    LEFT JOIN pg_class rc ON d.refclassid = 'pg_class'::regclass AND rc.oid = d.refobjid AND rc.relkind = 'c'
    LEFT JOIN pg_depend i ON d.refclassid = 'pg_proc'::regclass AND i.classid = d.refclassid AND i.objid = d.refobjid
      AND i.deptype = 'i' AND i.refclassid = 'pg_type'::regclass
    LEFT JOIN pg_range g ON g.rngmultitypid = coalesce(e.oid, t.oid, i.refobjid)
    LEFT JOIN pg_constraint n ON d.refclassid = 'pg_class'::regclass AND n.conindid = d.refobjid AND n.contype IN ('p', 'u', 'x')
    WHERE d.deptype IN ('n', 'a', 'i', 'P'))
  SELECT DISTINCT id, needed, needed = owner FROM named WHERE id <> needed
  UNION SELECT 'owned/' || objid, refclassid::regclass || '/' || refobjid, false FROM pg_depend
    WHERE classid = 'pg_class'::regclass AND refclassid = 'pg_class'::regclass AND deptype = 'a'
  UNION SELECT 'attached/' || inhrelid, 'pg_class/' || other, false FROM pg_inherits, LATERAL (VALUES (inhrelid), (inhparent)) o(other)
  UNION SELECT 'pg_constraint/' || k.oid, 'attached/' || inhrelid, false FROM pg_constraint k JOIN pg_inherits ON inhparent = conrelid
    WHERE contype IN ('p', 'u', 'x')`;
