import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { cachedPackages } from "../../support/cached-npm.ts";
import { temporaryDirectory } from "../../support/guardian.ts";
import { runProgram } from "../../support/run-program.ts";
import { asRoot } from "./rig.ts";

const root = join(import.meta.dirname, "..", "..", "..");

const seed = `accounts: [{id: acc-ana, email: ana@example.com, plan: scale, apiKeys: [{name: laptop, key: ana-key}]}]
organizations: [{id: org-shop, plan: scale, members: [{account: acc-ana, role: admin}]}]
projects:
- {id: shop, owner: org-shop, branches: [{id: br-main, name: main}], endpoints: [{id: ep-shop, branchID: br-main, type: read_write}]}
`;

const toolkit = cachedPackages("@neondatabase/toolkit@0.1.2").resolve("@neondatabase/toolkit");

/** The toolkit has no setting for its host, so the service bears the public one's domain. */
const toolkitClient = `import { NeonToolkit } from ${JSON.stringify(toolkit)};
const toolkit = new NeonToolkit("ana-key");
const project = await toolkit.createProject({ name: "by-toolkit", org_id: "org-shop" });
await toolkit.sql(project, "CREATE TABLE notes (text text)");
await toolkit.sql(project, "INSERT INTO notes VALUES ('kept')");
console.log("toolkit", JSON.stringify(await toolkit.sql(project, "SELECT text FROM notes")));
await toolkit.deleteProject(project);
const { data } = await toolkit.apiClient.listProjects({ org_id: "org-shop" });
console.log("left", data.projects.map(({ name }) => name).join());
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
"$NODE" "$ROOT/src/main.ts" service --postgres --port 443 --domain "$DOMAIN" --api-tls --rules neon --data "$DIR/state.db" --seed "$DIR/seed.yaml" --ready-file "$DIR/ready" "$@" &
trap 'kill $!; wait' EXIT
while [ ! -e "$DIR/ready" ] && kill -0 $!; do sleep 0.1; done
NODE_EXTRA_CA_CERTS="$DIR/state.db.authority.crt" "$NODE" "$DIR/client.mjs"
`;

it("the unmodified driver and API client reach a service with --api-tls at the addresses that they take by default", async () => {
  // Beside the packages that it imports, by an absolute path.
  const resolved = client.replaceAll(
    /from "(@?[\w/-]+)"/g,
    (_, name: string) => `from ${JSON.stringify(import.meta.resolve(name))}`,
  );
  expect(await play(resolved, { domain: "db.test", hosts: ["api", "ep-shop", "ep-shop-pooler"] })).toEqual([
    'http [{"one":1}]',
    'websocket [{"two":2}]',
  ]);
});

it("the unmodified toolkit makes a project, runs SQL in it and deletes it where the public service's names lead here", async () => {
  expect(await play(toolkitClient, { domain: "neon.tech", hosts: ["api", "console"] })).toEqual([
    'toolkit [{"text":"kept"}]',
    "left shop",
  ]);
});

/** Runs a client beside the service, to which these hosts of its domain lead; answers the lines that it printed. */
async function play(program: string, { domain, hosts }: { domain: string; hosts: readonly string[] }) {
  const directory = temporaryDirectory("driver-tls");
  chmodSync(directory.path, 0o755);
  const file = (name: string, text: string) => writeFileSync(join(directory.path, name), text);
  file("seed.yaml", seed);
  file("client.mjs", program);
  file("hosts", `127.0.0.1 localhost ${hosts.map((host) => `${host}.${domain}`).join(" ")}\n`);
  const space = process.getuid?.() === 0 ? ["--mount", "--net"] : ["--mount", "--net", "--map-root-user"];
  const env = { ...process.env, DIR: directory.path, DOMAIN: domain, NODE: process.execPath, ROOT: root };
  const args = [...space, "sh", "-c", script, "sh", directory.path, ...asRoot];
  const { status, stdout, stderr } = await runProgram("unshare", args, { env });
  directory.remove();
  expect([status, stderr]).toEqual([0, expect.any(String)]);
  return stdout.split("\n").filter((line) => /^(http|websocket|toolkit|left) /.test(line));
}
