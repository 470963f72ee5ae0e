import type { Session } from "./privileged-role.ts";

/**
 * Runs the statements that queries write, each in a transaction of its own unless all are `together`. None comes here:
 * the encoding of a database is a client's choice, in which a name may be another one than here, or no text here.
 */
export async function runWritten(inside: Session, queries: readonly string[], together = false): Promise<void> {
  const all = queries.map((query) => `ARRAY(${query})`).join(" || ");
  await inside.query(`DO $do$
    DECLARE written text[] := ${all}; one text;
    BEGIN FOREACH one IN ARRAY written LOOP EXECUTE one; ${together ? "" : "COMMIT; "}END LOOP; END $do$`);
}
