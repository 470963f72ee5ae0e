import { beforeAll, expect, it } from "vitest";
import { streamOf } from "./node-postgres.ts";
import { main, project } from "./rig.ts";
import { usePostgresRig } from "./use-rig.ts";

const rig = usePostgresRig();
const databases = `/projects/${project}/branches/${main}/databases`;
let uri: string;
beforeAll(async () => {
  uri = await rig.uri();
});

const newDatabase = (name: string) => rig.change("POST", databases, { database: { name, owner_name: "app" } });

it("a client that reads nothing of a long result keeps no database that the API deletes, and nobody waiting", async () => {
  await newDatabase("gone");
  const client = await rig.client(uri);
  client.query("SELECT repeat('x', 1000) FROM generate_series(1, 1000000)").catch(() => {});
  streamOf(client).pause();
  const waits = "SELECT FROM pg_stat_activity WHERE wait_event = 'ClientWrite'";
  await expect.poll(() => rig.query(uri, waits)).toHaveLength(1);
  const [deleted] = await rig.change("DELETE", `${databases}/gone`);
  expect(deleted).toMatchObject({ status: "finished" });
  expect(await rig.query(uri, "SELECT FROM pg_database WHERE datname = 'gone'")).toEqual([]);
  streamOf(client).destroy();
});
