import { expect, it } from "vitest";
import { main, primary, project } from "./rig.ts";
import { usePostgresRig } from "./use-rig.ts";

const rig = usePostgresRig(["--test-controls"]);
const branch = `/projects/${project}/branches/${main}`;

/** The service's time, in milliseconds since the epoch. */
async function now(): Promise<number> {
  const { headers } = await fetch(`http://${rig.serviceAddress}/healthz`);
  return Date.parse(headers.get("date") ?? "");
}

it("a branch whose clock was advanced is restored to what it was then, and not to what it is", async () => {
  const uri = await rig.uri();
  await rig.query(uri, "CREATE TABLE item (name text)", "INSERT INTO item VALUES ('kept')");

  await rig.advance(3600);
  const source_timestamp = new Date((await now()) - 1_800_000).toISOString();
  await rig.query(uri, "DELETE FROM item");
  await rig.change("POST", `${branch}/restore`, {
    source_branch_id: main,
    source_timestamp,
    preserve_under_name: "before",
  });
  const there = await rig.uri({ endpoint: primary });
  expect(await rig.query(there, "SELECT name FROM item")).toEqual([{ name: "kept" }]);
});
