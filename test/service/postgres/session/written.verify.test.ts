import { beforeAll, describe, expect, it } from "vitest";
import { CreatedBranch, main, primary, project } from "../rig.ts";
import { usePostgresRig } from "../use-rig.ts";

const rig = usePostgresRig();
const roles = `/projects/${project}/branches/${main}/roles`;
const refused = /password authentication failed/;
let uri: string;
beforeAll(async () => {
  uri = await rig.uri();
});

const inDatabase = (of: string, name: string) => of.replace("/stock?", `/${name}?`);

/** No way leads from the first of these encodings to UTF-8; in the others a text may have bytes that are none there. */
const encodings = ["MULE_INTERNAL", "SQL_ASCII", "WIN1252", "EUC_TW"];

describe("databases whose encodings say what no session in UTF-8 understands", () => {
  beforeAll(async () => {
    const settings = { pg_settings: { max_prepared_transactions: "10" } };
    await rig.change("PATCH", `/projects/${project}/endpoints/${primary}`, { endpoint: { settings } });
    await rig.change("POST", `/projects/${project}/endpoints/${primary}/restart`);
    for (const one of encodings)
      await rig.query(
        uri,
        `CREATE DATABASE of_${one} ENCODING '${one}' LOCALE_PROVIDER libc LOCALE 'C' TEMPLATE template0`,
      );
    const odd = "DO $$ BEGIN EXECUTE format('CREATE TABLE %I AS SELECT 1 AS x', E't\\x81'); END $$";
    for (const name of ["of_sql_ascii", "of_win1252"]) await rig.query(inDatabase(uri, name), odd);
  });

  const prepare = (role: string, name: string) =>
    rig.query(
      inDatabase(role, "of_sql_ascii"),
      "BEGIN",
      "ALTER ROLE CURRENT_USER PASSWORD 'stolen'",
      `PREPARE TRANSACTION E'${name}'`,
    );

  it("a role has the password to which the API resets it, though its change is prepared under an id that is no text", async () => {
    const before = await rig.newRole("hidden");
    await prepare(before, "\\xff''\\\\n");
    const [reset] = await rig.change("POST", `${roles}/hidden/reset_password`);
    expect(reset).toMatchObject({ status: "finished" });
    await expect(rig.query(before, "SELECT 1")).rejects.toThrow(refused);
    await rig.query(await rig.uri({ role: "hidden" }), "SELECT 1");
    expect(await rig.query(uri, "SELECT FROM pg_prepared_xacts")).toEqual([]);
  });

  it("a role that the API deletes is dropped from a database in whose encoding its name is another one", async () => {
    const before = await rig.newRole("café");
    await rig.query(uri, 'GRANT ALL ON DATABASE of_win1252 TO "café"');
    await rig.query(inDatabase(before, "of_win1252"), "CREATE SCHEMA hers");
    const [deleted] = await rig.change("DELETE", `${roles}/${encodeURIComponent("café")}`);
    expect(deleted).toMatchObject({ status: "finished" });
    expect(await rig.query(uri, "SELECT FROM pg_roles WHERE rolname = 'café'")).toEqual([]);
  });

  it("a branch with the schema alone is made, and has no row", async () => {
    const made = await rig.call("POST", `/projects/${project}/branches`, {
      branch: { init_source: "schema-only" },
      endpoints: [{ type: "read_write" }],
    });
    await rig.settled();
    const there = await rig.uri({ endpoint: CreatedBranch.parse(made.body).endpoints[0]?.id ?? "" });
    const sizes = "SELECT pg_relation_size(oid)::int AS size FROM pg_class WHERE relnamespace = 'public'::regnamespace";
    expect(await rig.query(inDatabase(there, "of_sql_ascii"), sizes)).toEqual([{ size: 0 }]);
  });

  it("a branch that begins at a time starts, whose log has transactions that were prepared since its base", async () => {
    await rig.query(uri, "BEGIN", "CREATE TABLE early ()", "PREPARE TRANSACTION 'early'");
    await rig.query(uri, "ROLLBACK PREPARED 'early'");
    const at = new Date().toISOString();
    await rig.query(uri, "CREATE TABLE later ()");
    const made = await rig.call("POST", `/projects/${project}/branches`, {
      branch: { parent_id: main, parent_timestamp: at },
      endpoints: [{ type: "read_write" }],
    });
    await rig.settled();
    const there = await rig.uri({ endpoint: CreatedBranch.parse(made.body).endpoints[0]?.id ?? "" });
    expect(await rig.query(there, "SELECT to_regclass('later') AS later")).toEqual([{ later: null }]);
  });
});
