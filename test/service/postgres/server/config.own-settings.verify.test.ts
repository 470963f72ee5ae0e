import { beforeAll, describe, expect, it } from "vitest";
import { ServiceSessions } from "../../../../src/service/postgres/session/service-sessions.ts";
import { realClock } from "../../../support/real-clock.ts";
import { nodePostgres } from "../node-postgres.ts";
import { main, primary, project, serverSocket } from "../rig.ts";
import { usePostgresRig } from "../use-rig.ts";

const rig = usePostgresRig();
const branch = `/projects/${project}/branches/${main}`;
const endpoint = `/projects/${project}/endpoints/${primary}`;
let uri: string;
beforeAll(async () => {
  uri = await rig.uri();
});

/** The address for a client with time-outs of its own: on a busy machine it cannot be as quick as the compute's are. */
function patient(address: string): string {
  return `${address}%20-c%20idle_session_timeout%3D0%20-c%20statement_timeout%3D0`;
}

describe("a compute whose settings end idle sessions and make transactions read-only", () => {
  beforeAll(async () => {
    const pg_settings = { idle_session_timeout: "20", default_transaction_read_only: "on", statement_timeout: "900" };
    await rig.change("PATCH", endpoint, { endpoint: { settings: { pg_settings } } });
  });

  it("a compute has its settings for its clients", async () => {
    await expect(rig.query(patient(uri), "CREATE TABLE t (x int)")).rejects.toThrow(/read-only transaction/);
    const { Client } = nodePostgres();
    const idle = new Client({ connectionString: uri });
    // The server may have ended the session before this process reads that it began.
    const ended = new Promise<Error>((resolve) => idle.on("error", resolve));
    await idle.connect();
    expect((await ended).message).toMatch(/idle-session timeout/);
  });

  it("a compute is given roles and databases, and lets clients in", async () => {
    const named = { database: { name: "notes", owner_name: "reader" } };
    const [role] = await rig.change("POST", `${branch}/roles`, { role: { name: "reader" } });
    const [database] = await rig.change("POST", `${branch}/databases`, named);
    expect([role, database]).toMatchObject([{ status: "finished" }, { status: "finished" }]);
    const notes = await rig.uri({ database: "notes", role: "reader" });
    expect(await rig.query(patient(notes), "SELECT 1 AS one")).toEqual([{ one: 1 }]);
  });

  it("starts again, and is copied", async () => {
    const [restarted] = await rig.change("POST", `${endpoint}/restart`);
    expect(restarted).toMatchObject({ status: "finished" });
    const made = await rig.change("POST", `/projects/${project}/branches`, { branch: { parent_id: main } });
    expect(made).toMatchObject([{ action: "create_branch", status: "finished" }]);
    expect(await rig.query(patient(uri), "SELECT 1 AS one")).toEqual([{ one: 1 }]);
  });
});

describe("a compute whose settings leave no quick plan of a statement", () => {
  const slow = { enable_hashjoin: "off", enable_indexscan: "off", random_page_cost: "1e+300", jit_above_cost: "0" };
  beforeAll(async () => {
    await rig.change("PATCH", endpoint, { endpoint: { settings: { pg_settings: slow } } });
  });

  it("a session of the service has none of them: joins over a hundred thousand tables would take days", async () => {
    const names = Object.keys(slow);
    const given = `SELECT setting FROM pg_settings WHERE name IN ('${names.join("', '")}') AND setting <> boot_val`;
    expect(await rig.query(uri, given)).toHaveLength(names.length);
    const server = { sockets: serverSocket(rig.data).host, major: 17 };
    using own = await new ServiceSessions(realClock).open(server, "stock");
    expect(await own.query(given)).toEqual([]);
  });
});

describe("a database that cannot be renamed, as a client has left a prepared transaction in it", () => {
  let kept: string;
  beforeAll(async () => {
    const pg_settings = { max_prepared_transactions: "10" };
    await rig.change("PATCH", endpoint, { endpoint: { settings: { pg_settings } } });
    await rig.change("POST", `${endpoint}/restart`);
    await rig.change("POST", `${branch}/databases`, { database: { name: "kept", owner_name: "app" } });
    kept = await rig.uri({ database: "kept" });
    await rig.query(kept, "BEGIN", "CREATE TABLE t (x int)", "PREPARE TRANSACTION 'left'");
  });

  it("fails the operation, and says what the client is to do", async () => {
    const [operation] = await rig.change("PATCH", `${branch}/databases/kept`, { database: { name: "renamed" } });
    expect(operation).toMatchObject({ status: "failed", error: expect.stringMatching(/a prepared transaction: end/) });
  });

  it("does not keep the compute from starting, and the service says what is left to do", async () => {
    await rig.change("POST", `${endpoint}/suspend`);
    expect(await rig.query(uri, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
    await rig.child.waitForLine(
      new RegExp(`roles and databases of branch ${main} are not all as the API shows them: .*prepared transaction`),
    );
  });

  it("a database is renamed by the next start for which nothing stands in the way", async () => {
    await rig.query(kept, "ROLLBACK PREPARED 'left'");
    await rig.change("POST", `${endpoint}/restart`);
    const names = "SELECT datname FROM pg_database WHERE datname IN ('kept', 'renamed')";
    expect(await rig.query(uri, names)).toEqual([{ datname: "renamed" }]);
  });
});
