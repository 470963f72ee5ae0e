/** Makes an index whose function of a client runs while the page that it is to divide is locked. */
export const indexWithFunction: readonly string[] = [
  `CREATE FUNCTION apart(one int, other int) RETURNS float8 LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN
    IF current_setting('page.lock', true) = 'on' THEN PERFORM pg_sleep(100000); END IF;
    RETURN one - other; END $$`,
  "CREATE TYPE span AS RANGE (subtype = int4, subtype_diff = apart)",
  "CREATE TABLE spans (x span)",
  "CREATE INDEX ON spans USING gist (x)",
  "INSERT INTO spans SELECT span(i, i + 10) FROM generate_series(1, 100) i",
];

/** Divides the page: no checkpoint ends from then on, and no signal but one ends the session. */
export const lockPage = {
  first: "SET page.lock = 'on'",
  change: "INSERT INTO spans SELECT span(i, i + 10) FROM generate_series(1000, 3000) i",
};
