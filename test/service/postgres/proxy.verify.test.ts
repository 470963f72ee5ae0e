import { chmodSync, readdirSync, readFileSync, statSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { beforeAll, expect, it, test } from "vitest";
import { logIn } from "../../../src/service/postgres/proxy/login.ts";
import { startupPacket } from "../../../src/service/postgres/session/messages.ts";
import { keyOf, sendCancel } from "./node-postgres.ts";
import { primary, project, seed } from "./rig.ts";
import { usePostgresRig } from "./use-rig.ts";

/** The smallest size, whose 112 connections are soon used up. */
const small = {
  ...seed,
  projects: seed.projects.map((one) => ({
    ...one,
    endpoints: one.endpoints.map((endpoint) => ({
      ...endpoint,
      autoscaling_limit_min_cu: 0.25,
      autoscaling_limit_max_cu: 0.25,
    })),
  })),
};

/** The first packet of a client of the primary. */
const asApp = new Map([
  ["user", "app"],
  ["database", "stock"],
  ["options", `endpoint=${primary}`],
]);

/** After which a compute without clients is suspended. */
const inactivitySeconds = 300;

const rig = usePostgresRig(["--test-controls"], small);
let uri: string;
let bare: string;
beforeAll(async () => {
  uri = await rig.uri();
  bare = uri.replace(/\?.*$/, "");
});

it("takes a client by the server name of its TLS handshake", async () => {
  const client = await rig.client(bare, { ssl: { rejectUnauthorized: false, servername: `${primary}.localhost` } });
  expect((await client.query("SELECT 1 AS one")).rows).toEqual([{ one: 1 }]);
  await client.end();
});

it("leads the pooled name to the compute too", async () => {
  expect(await rig.query(await rig.uri({ pooled: true }), "SELECT 1 AS one")).toEqual([{ one: 1 }]);
});

it("passes the other options on to the server, and not the compute's", async () => {
  const rows = await rig.query(`${uri}%20-c%20work_mem%3D5MB`, "SHOW work_mem");
  expect(rows).toEqual([{ work_mem: "5MB" }]);
});

test.each([
  ["", /names no compute: pass it as options=endpoint%3D<endpoint-id>/],
  ["?options=endpoint%3Dep-none", /there is no compute ep-none/],
  ["?options=endpoint%3Dep-a%20endpoint%3Dep-b", /names more than one compute, ep-a and ep-b/],
])("refuses a client whose address ends in %j", async (end, message) => {
  await expect(rig.query(`${bare}${end}`, "SELECT 1")).rejects.toThrow(message);
});

it("refuses a client whose options and server name differ", async () => {
  const ssl = { rejectUnauthorized: false, servername: "ep-other.localhost" };
  await expect(rig.client(uri, { ssl })).rejects.toThrow(/names more than one compute, ep-main and ep-other/);
});

it("cancels a query with a key of its own", async () => {
  const client = await rig.client(uri);
  const key = keyOf(client);
  const running = client.query("SELECT pg_sleep(60)").then(
    () => "it ran to its end",
    (error: unknown) => String(error),
  );
  const pids = "SELECT pid FROM pg_stat_activity WHERE query LIKE '%pg_sleep%' AND pid <> pg_backend_pid()";
  await expect.poll(() => rig.query(uri, pids)).toEqual([{ pid: expect.any(Number) }]);
  expect(await rig.query(uri, pids)).not.toEqual([{ pid: key.processID }]);
  await sendCancel(rig.address, client);
  expect(await running).toContain("canceling statement due to user request");
  await client.end();
});

it("stops a compute some time after its last client has left", async () => {
  await rig.query(uri, "SELECT 1");
  await idleAfter(inactivitySeconds);
  expect((await rig.operations())[0]).toMatchObject({ action: "suspend_compute", status: "finished" });
});

it("does not stop a compute that still runs a query of a client who left", async () => {
  const client = await rig.client(uri);
  void client.query("SELECT pg_sleep(600) AS nap").catch(() => {});
  const naps = "SELECT pid FROM pg_stat_activity WHERE query LIKE '%AS nap' AND state = 'active'";
  await expect.poll(() => rig.query(uri, naps)).toHaveLength(1);
  drop(client);
  await rig.advance(2 * inactivitySeconds);
  const [nap] = await rig.query(uri, naps);
  expect(await rig.endpoint()).toMatchObject({ current_state: "active" });
  await rig.query(uri, `SELECT pg_cancel_backend(${String(nap?.["pid"])})`);
  await idleAfter(inactivitySeconds);
});

it("refuses one connection too many as Postgres does", async () => {
  const clients = await Promise.all(Array.from({ length: 109 }, () => rig.client(uri)));
  const refused = await rig.client(uri).then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(refused).toMatchObject({ code: "53300" });
  await Promise.all(clients.map((client) => client.end()));
  expect(await rig.query(uri, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
});

it("keeps its connections for clients that log in, however many strangers do not", async () => {
  const { hostname, port } = new URL(uri);
  const strangers = Array.from({ length: 120 }, () => connect(Number(port), hostname));
  await Promise.all(
    strangers.map((stranger) => {
      stranger.on("error", () => {});
      stranger.write(startupPacket(0x30000, asApp));
      return new Promise((resolve) => stranger.once("data", resolve));
    }),
  );
  expect(await rig.query(uri, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
  for (const stranger of strangers) stranger.destroy();
});

it("a role that gives itself a verifier with a long salt cannot log in, and strangers who try are sent none of it", async () => {
  const hash = "encode(sha256('a'), 'base64')";
  const fat = `'SCRAM-SHA-256$4096:' || repeat('AAAA', 1000000) || '$' || ${hash} || ':' || ${hash}`;
  await rig.query(uri, `DO $do$ BEGIN EXECUTE format('CREATE ROLE fat LOGIN PASSWORD %L', ${fat}); END $do$`);
  const { hostname, port } = new URL(uri);
  const stranger = connect(Number(port), hostname).on("error", () => {});
  let received = 0;
  stranger.on("data", (chunk) => {
    received += chunk.length;
  });
  stranger.pause();
  stranger.write(startupPacket(0x30000, new Map([...asApp, ["user", "fat"]])));
  const refusal = await logIn(stranger, { password: "whatever" });
  expect(String(refusal)).toContain('password authentication failed for user "fat"');
  expect(received).toBeLessThan(1000);
  stranger.destroy();
});

it("tells a client whose compute does not start why", async () => {
  await rig.change("POST", `/projects/${project}/endpoints/${primary}/suspend`);
  const control = join(dataDirectory(), "global", "pg_control");
  const { mode } = statSync(control);
  chmodSync(control, 0o000);
  await expect(rig.query(uri, "SELECT 1")).rejects.toThrow(/compute ep-main could not be started: .*pg_control/);
  const [failed] = await rig.operations();
  expect(failed).toMatchObject({
    action: "start_compute",
    status: "failed",
    error: expect.stringContaining("pg_control"),
  });
  expect((await rig.endpoint()).current_state).toBe("idle");
  chmodSync(control, mode);
  expect(await rig.query(uri, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
});

it("starts a server again that was killed, and shows it", async () => {
  const client = await rig.client(uri);
  const file = join(dataDirectory(), "postmaster.pid");
  const before = await rig.operations();
  process.kill(Number(readFileSync(file, "utf8").split("\n")[0]), "SIGKILL");
  await expect.poll(async () => (await rig.operations()).length).toBeGreaterThan(before.length);
  await rig.settled();
  expect((await rig.operations())[0]).toMatchObject({ action: "start_compute", status: "finished" });
  await expect(client.query("SELECT 1")).rejects.toThrow(/not queryable|terminated|ended/);
  expect(await rig.query(uri, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
});

it("starts a server again that was killed while another operation ran", async () => {
  await rig.query(uri, "SELECT 1");
  const file = join(dataDirectory(), "postmaster.pid");
  const settings = { pg_settings: { work_mem: "6MB" } };
  // The answer comes as soon as the operation has begun. After an earlier kill the call could be refused with 423.
  const { status } = await rig.call("PATCH", `/projects/shop/endpoints/${primary}`, { endpoint: { settings } });
  process.kill(Number(readFileSync(file, "utf8").split("\n")[0]), "SIGKILL");
  expect(status).toBe(200);
  await rig.settled();
  // Where the operation was quicker than the kill, clients are turned away until the service notices the end.
  await expect.poll(() => rig.query(uri, "SHOW work_mem")).toEqual([{ work_mem: "6MB" }]);
});

/** Lets time pass until the compute is idle: its last client may not have been noticed to have left at once. */
async function idleAfter(seconds: number): Promise<void> {
  await expect
    .poll(async () => {
      await rig.advance(seconds);
      return (await rig.endpoint()).current_state;
    })
    .toBe("idle");
  await rig.settled();
}

function dataDirectory(): string {
  const directory = `${rig.data}.postgres/branches`;
  return join(directory, readdirSync(directory).find((name) => name.startsWith("br-main")) ?? "");
}

function drop(client: object): void {
  const { connection } = { connection: { stream: { destroy() {} } }, ...client };
  connection.stream.destroy();
}
