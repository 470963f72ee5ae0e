import { once } from "node:events";
import { createServer } from "node:net";
import { DatabaseSync } from "node:sqlite";
import { expect, it, onTestFinished } from "vitest";
import { SqlClient } from "../../../../src/service/postgres/session/sql-client.ts";
import { main, primary, project, serverSocket } from "../rig.ts";
import { usePostgresRig } from "../use-rig.ts";

const rig = usePostgresRig();
const named = "SELECT subname AS name FROM pg_subscription";
const denied = /permission denied to create subscription/;

it("data in which an earlier version let clients have subscriptions has none from its next start, and connects to no publisher", async () => {
  let connections = 0;
  const publisher = createServer((socket) => {
    connections += 1;
    socket.destroy();
  }).listen(0, "127.0.0.1");
  onTestFinished(() => void publisher.close());
  await once(publisher, "listening");
  const address = publisher.address();
  const port = typeof address === "object" ? address?.port : undefined;
  const uri = await rig.uri();
  const create = (name: string) => `CREATE SUBSCRIPTION ${name}
    CONNECTION 'host=127.0.0.1 port=${port} user=x password=x' PUBLICATION pub WITH (connect = false, slot_name = 'its')`;
  await expect(rig.query(uri, create("new"))).rejects.toThrow(denied);
  using superuser = await SqlClient.connect({
    socket: serverSocket(rig.data).socket,
    user: "cloud_admin",
    password: "",
    database: "stock",
  });
  await superuser.query("GRANT pg_create_subscription TO neon_superuser");
  await rig.query(uri, "CREATE TABLE copied (id int)", create("old"), "ALTER SUBSCRIPTION old ENABLE");
  await superuser.query("INSERT INTO pg_subscription_rel SELECT oid, 'copied'::regclass, 'd' FROM pg_subscription");
  await rig.stop();
  const store = new DatabaseSync(rig.data);
  store.exec("UPDATE branch_data SET catalog = json_set(catalog, '$.rights', 5)");
  store.close();
  await rig.start();
  const branch = { parent_id: main };
  const made = await rig.change("POST", `/projects/${project}/branches`, {
    branch,
    endpoints: [{ type: "read_write" }],
  });
  for (const endpoint of [primary, made.find(({ endpoint_id }) => endpoint_id)?.endpoint_id ?? ""]) {
    const later = await rig.uri({ endpoint });
    expect(await rig.query(later, named)).toEqual([]);
    await expect(rig.query(later, create("new"))).rejects.toThrow(denied);
  }
  expect(connections).toBe(0);
});
