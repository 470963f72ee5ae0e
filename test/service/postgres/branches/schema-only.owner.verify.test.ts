import { expect, it } from "vitest";
import { CreatedBranch, main, project } from "../rig.ts";
import { usePostgresRig } from "../use-rig.ts";

const rig = usePostgresRig();

it("a branch with the schema alone is made where a role of Postgres's own has the database and its tables", async () => {
  await rig.change("DELETE", `/projects/${project}/branches/${main}/databases/neondb`);
  await rig.query(
    await rig.uri(),
    "ALTER DATABASE stock OWNER TO pg_monitor",
    "CREATE TABLE kept AS SELECT 1 AS number",
    "ALTER TABLE kept OWNER TO pg_monitor",
  );
  const { body } = await rig.call("POST", `/projects/${project}/branches`, {
    branch: { parent_id: main, init_source: "schema-only" },
    endpoints: [{ type: "read_write" }],
  });
  await rig.settled();
  const there = await rig.uri({ endpoint: CreatedBranch.parse(body).endpoints[0]?.id ?? "" });
  expect(await rig.query(there, "SELECT number FROM kept")).toEqual([]);
});
