import { expect, it } from "vitest";
import { main, project } from "../rig.ts";
import { usePostgresRig } from "../use-rig.ts";

const rig = usePostgresRig();

it("a replica starts although a client leaves a transaction open that has more subtransactions than the log lists", async () => {
  const uri = await rig.uri();
  await rig.query(uri, "CREATE TABLE items (x int)");
  const client = await rig.client(uri);
  client.on("error", () => {});
  await client.query("BEGIN");
  await client.query(`DO $$ BEGIN FOR i IN 1..100 LOOP
    BEGIN INSERT INTO items VALUES (i); EXCEPTION WHEN division_by_zero THEN NULL; END; END LOOP; END $$`);
  const [made] = await rig.change("POST", `/projects/${project}/endpoints`, {
    endpoint: { branch_id: main, type: "read_only" },
  });
  expect(made).toMatchObject({ status: "finished" });
  await expect(client.query("COMMIT")).rejects.toThrow("not queryable");
});
