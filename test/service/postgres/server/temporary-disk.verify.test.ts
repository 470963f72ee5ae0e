import { neon, neonConfig } from "@neondatabase/serverless";
import { beforeAll, expect, it } from "vitest";
import { primary, project } from "../rig.ts";
import { usePostgresRig } from "../use-rig.ts";

/** 20 GiB become 2 MiB. */
const rig = usePostgresRig(["--temporary-disk-scale", "0.0001"]);
let uri: string;
beforeAll(async () => {
  uri = await rig.uri();
});

const full = { code: "53100", message: expect.stringContaining("No space left on device") };
const sorting =
  "SELECT count(*) FROM (SELECT repeat('x', 100) || n AS text FROM generate_series(1, 200000) n ORDER BY 1)";

it("fails a query whose temporary files outgrow the disk as Postgres does on a full one", async () => {
  const client = await rig.client(uri);
  await expect(client.query(sorting)).rejects.toMatchObject(full);
  expect((await client.query("SELECT 1 AS one")).rows).toEqual([{ one: 1 }]);
  await client.end();
});

it("fails it over HTTP too", async () => {
  neonConfig.fetchEndpoint = `http://${rig.serviceAddress}/sql`;
  await expect(neon(uri).query(sorting)).rejects.toMatchObject(full);
});

it("a larger compute has a larger disk", async () => {
  const limit = async () => (await rig.query(uri, "SHOW temp_file_limit"))[0]?.["temp_file_limit"];
  expect(await limit()).toBe("2097kB");
  const larger = { endpoint: { autoscaling_limit_min_cu: 4, autoscaling_limit_max_cu: 4 } };
  await rig.change("PATCH", `/projects/${project}/endpoints/${primary}`, larger);
  expect(await limit()).toBe("6291kB");
});
