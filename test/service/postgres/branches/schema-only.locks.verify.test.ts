import { beforeAll, describe, expect, it } from "vitest";
import { CreatedBranch, main, primary, project } from "../rig.ts";
import { usePostgresRig } from "../use-rig.ts";

const rig = usePostgresRig();
const roles = `/projects/${project}/branches/${main}/roles`;
const compute = `/projects/${project}/endpoints/${primary}`;

describe("a branch that has more tables than a server of its size has locks", () => {
  beforeAll(async () => {
    const settings = { pg_settings: { max_locks_per_transaction: "10" } };
    const smallest = { autoscaling_limit_min_cu: 0.25, autoscaling_limit_max_cu: 0.25 };
    await rig.change("PATCH", compute, { endpoint: { ...smallest, settings } });
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

  it("a role is dropped too that policies on as many tables name, and that has as many composite types", async () => {
    const [uri, typist] = [await rig.uri(), await rig.newRole("typist")];
    await rig.newRole("other");
    await rig.query(uri, "CREATE SCHEMA types", "GRANT CREATE ON SCHEMA types TO typist");
    const each = (statement: string) => `DO $$ BEGIN FOR number IN 1..4000 LOOP
      EXECUTE format('${statement}', number); IF number % 100 = 0 THEN COMMIT; END IF; END LOOP; END $$`;
    await rig.query(typist, each("CREATE TYPE types.one%1$s AS (x int)"), each("CREATE TYPE types.two%1$s AS (x int)"));
    await rig.query(
      uri,
      each("CREATE POLICY alone ON many.t%1$s TO typist"),
      each("CREATE POLICY beside ON many.t%1$s TO typist, other, typist"),
      "CREATE POLICY twice ON many.t1 TO typist, typist",
    );
    const [deleted] = await rig.change("DELETE", `${roles}/typist`);
    expect(deleted).toMatchObject({ status: "finished" });
    const policies =
      "SELECT polname::text, polroles::regrole[]::text AS to, count(*)::int FROM pg_policy GROUP BY 1, 2";
    expect(await rig.query(uri, policies)).toEqual([{ polname: "beside", to: "{other}", count: 4000 }]);
    const types = `SELECT typowner::regrole::text AS owner, count(*)::int FROM pg_type
      WHERE typnamespace = 'types'::regnamespace AND typtype = 'c' GROUP BY 1`;
    expect(await rig.query(uri, types)).toEqual([{ owner: "app", count: 8000 }]);
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
