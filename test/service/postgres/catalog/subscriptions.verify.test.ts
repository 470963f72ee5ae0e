import { once } from "node:events";
import { createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, expect, it, onTestFinished } from "vitest";
import { SqlClient } from "../../../../src/service/postgres/session/sql-client.ts";
import { main, project, serverSocket } from "../rig.ts";
import { usePostgresRig } from "../use-rig.ts";

const rig = usePostgresRig();
const branches = `/projects/${project}/branches`;
const named = "SELECT subname AS name, subenabled AS enabled FROM pg_subscription";
const own = [{ name: "sub", enabled: true }];
let uri: string;
let before: string;
beforeAll(async () => {
  uri = await rig.uri();
  const connection = uri.replaceAll("'", "''");
  await rig.query(
    uri,
    `CREATE SUBSCRIPTION sub CONNECTION '${connection}' PUBLICATION pub WITH (connect = false, slot_name = 'none_such')`,
    "ALTER SUBSCRIPTION sub ENABLE",
  );
  before = new Date().toISOString();
  await sleep(50);
});

it.each([
  ["a copy of a branch that runs", {}],
  ["a copy with the schema alone", { init_source: "schema-only" }],
])("%s has none of its subscriptions, which read slots that are the branch's", async (_, fields) => {
  const endpoints = [{ type: "read_write" }];
  const made = await rig.change("POST", branches, { branch: { parent_id: main, ...fields }, endpoints });
  const endpoint = made.find(({ endpoint_id }) => endpoint_id)?.endpoint_id ?? "";
  expect(await rig.query(await rig.uri({ endpoint }), named)).toEqual([]);
  expect(await rig.query(uri, named)).toEqual(own);
});

it("a branch that is restored to its past has none of the subscriptions of then, which lack what was sent since", async () => {
  const point = { source_branch_id: main, source_timestamp: before };
  await rig.change("POST", `${branches}/${main}/restore`, { ...point, preserve_under_name: "kept" });
  expect(await rig.query(uri, named)).toEqual([]);
});

it("a copy connects to no publisher that a client has named, although a table of the subscription is still copied", async () => {
  let connections = 0;
  const publisher = createServer((socket) => {
    connections += 1;
    socket.destroy();
  }).listen(0, "127.0.0.1");
  onTestFinished(() => void publisher.close());
  await once(publisher, "listening");
  const address = publisher.address();
  const port = typeof address === "object" ? address?.port : undefined;
  await rig.query(
    uri,
    "CREATE TABLE copied (id int)",
    `CREATE SUBSCRIPTION other CONNECTION 'host=127.0.0.1 port=${port} user=x password=x' PUBLICATION pub WITH (connect = false)`,
  );
  const { socket } = serverSocket(rig.data);
  using superuser = await SqlClient.connect({ socket, user: "cloud_admin", password: "", database: "stock" });
  await superuser.query(`INSERT INTO pg_subscription_rel
    SELECT oid, 'copied'::regclass, 'd' FROM pg_subscription WHERE subname = 'other'`);
  const endpoints = [{ type: "read_write" }];
  const made = await rig.change("POST", branches, { branch: { parent_id: main }, endpoints });
  const endpoint = made.find(({ endpoint_id }) => endpoint_id)?.endpoint_id ?? "";
  expect([await rig.query(await rig.uri({ endpoint }), named), connections]).toEqual([[], 0]);
});
