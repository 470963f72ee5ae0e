import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { temporaryDirectory } from "../../support/guardian.ts";
import { runProgram } from "../../support/run-program.ts";
import { asRoot } from "./rig.ts";

const root = join(import.meta.dirname, "..", "..", "..");

const seed = `accounts: [{id: acc-ana, email: ana@example.com, plan: scale, apiKeys: [{name: laptop, key: ana-key}]}]
organizations: [{id: org-shop, plan: scale, members: [{account: acc-ana, role: admin}]}]
projects:
- {id: shop, owner: org-shop, branches: [{id: br-main, name: main}], endpoints: [{id: ep-shop, branchID: br-main, type: read_write}]}
`;

/** Nothing of the driver is configured but the WebSockets that this version of Node lets it have. */
const client = `import { neon, neonConfig, Pool } from "@neondatabase/serverless";
import { createApiClient } from "@neondatabase/api-client";
import { WebSocket } from "ws";
const api = createApiClient({ apiKey: "ana-key", baseURL: "https://api.db.test/api/v2" });
const { data } = await api.getConnectionUri({ projectId: "shop", database_name: "neondb", role_name: "neondb_owner" });
console.log("http", JSON.stringify(await neon(data.uri)\`SELECT 1 AS one\`));
neonConfig.webSocketConstructor = WebSocket;
const pool = new Pool({ connectionString: data.uri });
console.log("websocket", JSON.stringify((await pool.query("SELECT 2 AS two")).rows));
await pool.end();
`;

/** In name spaces of its own: its hosts file, and its port 443. */
const script = `set -e
mount --bind "$1/hosts" /etc/hosts
ip link set lo up
shift
"$NODE" "$ROOT/src/main.ts" service --postgres --port 443 --domain db.test --api-tls --rules neon --data "$DIR/state.db" --seed "$DIR/seed.yaml" --ready-file "$DIR/ready" "$@" &
trap 'kill $!; wait' EXIT
while [ ! -e "$DIR/ready" ] && kill -0 $!; do sleep 0.1; done
NODE_EXTRA_CA_CERTS="$DIR/state.db.authority.crt" "$NODE" "$DIR/client.mjs"
`;

it("the unmodified driver and API client reach a service with --api-tls at the addresses that they take by default", async () => {
  const directory = temporaryDirectory("driver-tls");
  chmodSync(directory.path, 0o755);
  const file = (name: string, text: string) => writeFileSync(join(directory.path, name), text);
  file("seed.yaml", seed);
  // Beside the packages that it imports, by an absolute path.
  file(
    "client.mjs",
    client.replaceAll(/from "(@?[\w/-]+)"/g, (_, name: string) => `from ${JSON.stringify(import.meta.resolve(name))}`),
  );
  file("hosts", "127.0.0.1 localhost api.db.test ep-shop.db.test ep-shop-pooler.db.test\n");
  const space = process.getuid?.() === 0 ? ["--mount", "--net"] : ["--mount", "--net", "--map-root-user"];
  const env = { ...process.env, DIR: directory.path, NODE: process.execPath, ROOT: root };
  const args = [...space, "sh", "-c", script, "sh", directory.path, ...asRoot];
  const { status, stdout, stderr } = await runProgram("unshare", args, { env });
  const rows = stdout.split("\n").filter((line) => /^(http|websocket) /.test(line));
  expect([status, rows, stderr]).toEqual([0, ['http [{"one":1}]', 'websocket [{"two":2}]'], expect.any(String)]);
  directory.remove();
});
