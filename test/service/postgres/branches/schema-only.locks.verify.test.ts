import { beforeAll, describe, expect, it } from "vitest";
import { CreatedBranch, main, primary, project } from "../rig.ts";
import { usePostgresRig } from "../use-rig.ts";

const rig = usePostgresRig();
const roles = `/projects/${project}/branches/${main}/roles`;
const compute = `/projects/${project}/endpoints/${primary}`;

describe("a branch that has more tables than a server of its size has locks", () => {
  beforeAll(async () => {
    const settings = { pg_settings: { max_locks_per_transaction: "10" } };
    await rig.change("PATCH", compute, { endpoint: { settings } });
    await rig.change("POST", `${compute}/restart`);
    const uri = await rig.newRole("maker");
    await rig.query(uri, "CREATE SCHEMA many");
    await rig.query(
      uri,
      `DO $$ BEGIN FOR number IN 1..4000 LOOP
        EXECUTE format('CREATE TABLE many.t%s (id serial PRIMARY KEY, b text)', number);
        IF number % 100 = 0 THEN COMMIT; END IF;
      END LOOP; END $$`,
    );
    // With a checkpoint: a server that then stops has done so in order, and begins with no more locks than before.
    await rig.query(await rig.uri(), "CREATE DATABASE other STRATEGY file_copy");
  });

  it("a role that the API deletes is dropped, and its tables and their sequences are the owner's of the database", async () => {
    const [deleted] = await rig.change("DELETE", `${roles}/maker`);
    expect(deleted).toMatchObject({ status: "finished" });
    const owned = `SELECT relowner::regrole::text AS owner, count(*)::int FROM pg_class
      WHERE relnamespace = 'many'::regnamespace AND relkind IN ('r', 'S') GROUP BY 1`;
    expect(await rig.query(await rig.uri(), owned)).toEqual([{ owner: "app", count: 8000 }]);
  });

  it("a branch with the schema alone is made of it while it is idle, and has all tables", async () => {
    await rig.change("POST", `${compute}/suspend`);
    const made = await rig.call("POST", `/projects/${project}/branches`, {
      branch: { init_source: "schema-only" },
      endpoints: [{ type: "read_write" }],
    });
    await rig.settled();
    const there = await rig.uri({ endpoint: CreatedBranch.parse(made.body).endpoints[0]?.id ?? "" });
    const tables = "SELECT count(*)::int FROM pg_tables WHERE schemaname = 'many'";
    expect(await rig.query(there, tables)).toEqual([{ count: 4000 }]);
  });
});
