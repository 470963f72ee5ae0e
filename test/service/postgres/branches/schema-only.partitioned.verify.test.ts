import { expect, it } from "vitest";
import { CreatedBranch, main, project } from "../rig.ts";
import { usePostgresRig } from "../use-rig.ts";

const rig = usePostgresRig();

it("a branch with the schema alone is made of one with more partitioned tables than locks, and is empty whatever their keys", async () => {
  const uri = await rig.uri();
  await rig.query(
    uri,
    "CREATE TABLE plain (x int PRIMARY KEY)",
    "CREATE TABLE parted (x int PRIMARY KEY REFERENCES plain) PARTITION BY LIST (x)",
    "CREATE TABLE part PARTITION OF parted FOR VALUES IN (1)",
    "CREATE TABLE outside (x int REFERENCES parted)",
    "INSERT INTO plain VALUES (1)",
    "INSERT INTO parted VALUES (1)",
    "INSERT INTO outside VALUES (1)",
    `DO $$ BEGIN FOR number IN 1..50000 LOOP
      EXECUTE format('CREATE TABLE t%s (x int) PARTITION BY LIST (x)', number);
      IF number % 100 = 0 THEN COMMIT; END IF;
    END LOOP; END $$`,
  );
  const { body } = await rig.call("POST", `/projects/${project}/branches`, {
    branch: { parent_id: main, init_source: "schema-only" },
    endpoints: [{ type: "read_write" }],
  });
  await rig.settled();
  const there = await rig.uri({ endpoint: CreatedBranch.parse(body).endpoints[0]?.id ?? "" });
  const left = "SELECT FROM plain UNION ALL SELECT FROM parted UNION ALL SELECT FROM outside";
  expect(await rig.query(there, left)).toEqual([]);
  const tables = "SELECT count(*)::int FROM pg_class WHERE relkind = 'p'";
  expect(await rig.query(there, tables)).toEqual([{ count: 50_001 }]);
});
