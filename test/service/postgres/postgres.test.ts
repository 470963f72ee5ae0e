import { X509Certificate } from "node:crypto";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { Gate } from "../../../src/service/postgres/gate.ts";
import { BranchHistory } from "../../../src/service/postgres/history/branch-history.ts";
import { PostgresUnusable } from "../../../src/service/postgres/host/failure.ts";
import { logIn } from "../../../src/service/postgres/proxy/login.ts";
import { startupPacket } from "../../../src/service/postgres/session/messages.ts";
import { temporaryDirectory } from "../../support/guardian.ts";
import { ServiceOnFakes } from "./fake/fake-service.ts";
import { main, primary, project, seed } from "./rig.ts";

const compute = `/projects/${project}/endpoints/${primary}`;
const second = 1000;

let fakes: ServiceOnFakes;
beforeEach(() => {
  fakes = new ServiceOnFakes();
});
afterEach(() => fakes[Symbol.asyncDispose]());

/** A client of the main compute that has sent its first message. */
async function client(role = "app", { pooled = false } = {}): Promise<Socket> {
  const { host, port } = fakes.postgres.backend.address;
  const socket = connect(port, host).on("error", () => {});
  onTestFinished(() => void socket.destroy());
  const parameters = { user: role, database: "stock", options: `endpoint=${primary}${pooled ? "-pooler" : ""}` };
  socket.write(startupPacket(0x30000, new Map(Object.entries(parameters))));
  await new Promise<void>((resolve) => socket.once("connect", resolve));
  return socket;
}

/** What a client is told at the end of its login with the API's password, or another one. */
async function loggedIn(socket: Socket, password?: string): Promise<string> {
  return (await logIn(socket, { password: password ?? fakes.passwordOf() })).toString("latin1");
}

/** What the console asks. */
const query = {
  accountId: "acc-ana",
  endpointId: primary,
  database: "stock",
  role: { name: "app", password: "secret" },
  sql: "SELECT 1",
  writes: false,
};

describe("clients", () => {
  it("a client that comes before the service has begun waits, and wakes its compute then", async () => {
    await fakes.open(seed);
    const early = await client();
    const answer = loggedIn(early);
    await fakes.begin();
    expect((await answer).startsWith("R\0\0\0\x08\0\0\0\0K")).toBe(true);
    expect([fakes.compute().currentState, fakes.machine.servers.size]).toEqual(["active", 1]);
    expect(fakes.core.context.backend.connections(fakes.compute(), false)).toBe(1);
  });

  it("a client with another password than the server knows is refused, and one of no role too", async () => {
    await fakes.start(seed);
    expect(await loggedIn(await client(), "wrong")).toContain('password authentication failed for user "app"');
    expect(await loggedIn(await client("nobody"), "wrong")).toContain("password authentication failed");
    expect(fakes.core.context.backend.connections(fakes.compute(), false)).toBe(0);
  });

  it("an error that nobody foresaw at a client's login is reported, and the client is gone", async () => {
    await fakes.start(seed);
    const unforeseen = new Error("unforeseen");
    const admit = vi.spyOn(Gate.prototype, "admit").mockRejectedValueOnce(unforeseen);
    onTestFinished(() => admit.mockRestore());
    const one = await client();
    await new Promise<void>((resolve) => one.resume().once("close", () => resolve()));
    expect(fakes.errors).toEqual([unforeseen]);
  });

  it("a client that waits when the service ends is told so", async () => {
    await fakes.open(seed);
    const answer = loggedIn(await client()).catch(String);
    const { postgres } = fakes;
    const asked = postgres.queries.run({ ...query, gone: new AbortController().signal }).catch(String);
    await new Promise((resolve) => setImmediate(resolve));
    await postgres.close();
    expect(await answer).toMatch(/shutting down|closed/);
    expect(await asked).toContain("the service is shutting down");
  });

  it("nobody is let in any more once the service has ended, not the console either", async () => {
    await fakes.start(seed);
    await fakes.change(`POST ${compute}/start`);
    const { queries } = fakes.postgres;
    await fakes.postgres.close();
    const gone = new AbortController().signal;
    await expect(queries.run({ ...query, gone })).rejects.toThrow("the service is shutting down");
  });

  it("a compute whose client does nothing is suspended when its time is up, and its connection ends", async () => {
    await fakes.start(seed);
    const one = await client();
    await loggedIn(one);
    const ended = new Promise<void>((resolve) => one.resume().once("close", resolve));
    fakes.clock.advance(200 * second);
    await fakes.clock.looks();
    expect([fakes.compute().currentState, fakes.compute().pendingState]).toEqual(["active", undefined]);
    fakes.clock.advance(101 * second);
    await fakes.until(() => fakes.compute().currentState === "idle");
    await ended;
    expect(fakes.machine.servers.size).toBe(0);
  });

  it("a compute whose client works is not suspended, and is later than that once the client has left", async () => {
    await fakes.start(seed);
    const one = await client();
    await loggedIn(one);
    fakes.machine.answer = ({ sql }) => (sql.includes("pg_stat_activity") ? [[String(fakes.clock.now())]] : undefined);
    fakes.clock.advance(301 * second);
    await fakes.clock.looks();
    expect(fakes.compute()).toMatchObject({ currentState: "active", pendingState: undefined, suspendDue: undefined });
    one.destroy();
    await fakes.until(() => fakes.compute().suspendDue !== undefined);
    expect(fakes.compute().suspendDue).toBeGreaterThan(fakes.clock.now() + 290 * second);
  });
});

describe("the address in connection URIs", () => {
  it.each([
    [{ host: "127.0.0.1" }, "127.0.0.1", 0],
    [{ host: "0.0.0.0" }, "127.0.0.1", 0],
    [{ host: "::" }, "::1", 0],
    [{ advertise: "db.example.com:6432" }, "db.example.com", 6432],
    [{ advertise: "[fd00::1]:6432" }, "fd00::1", 6432],
    [{ advertise: "db.example.com:80" }, "db.example.com", 80],
  ])("the address of %j is %s, port %i, or the one that it listens on", async (settings, host, port) => {
    fakes = new ServiceOnFakes({ settings });
    await fakes.open(seed);
    const { address } = fakes.postgres.backend;
    expect([address.host, port === 0 ? address.port > 0 : address.port]).toEqual([host, port === 0 || port]);
  });
});

it("a server has the disk for temporary files that the service is set to give", async () => {
  fakes = new ServiceOnFakes({ settings: { temporaryDiskScale: 0.001 } });
  await fakes.start(seed);
  await fakes.change(`POST ${compute}/start`);
  const settings = readFileSync(join(fakes.directoryOf(), "postgresql.conf"), "utf8");
  expect(settings).toContain("temp_file_limit = '20971kB'");
});

it("a service with a domain has a certificate for its names", async () => {
  fakes = new ServiceOnFakes({ settings: { domain: "db.test" } });
  await fakes.open(seed);
  const { certificate } = fakes.postgres.served.certificate;
  expect(new X509Certificate(certificate).subjectAltName).toContain("DNS:db.test, DNS:*.db.test");
});

describe("a service that cannot begin", () => {
  it("a port that is taken is named, with the flag for another one, and nothing of the service stays", async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void other.close());
    const address = other.address();
    const port = typeof address === "object" && address ? address.port : 0;
    fakes = new ServiceOnFakes({ settings: { port } });
    const refused = fakes.open(seed);
    await expect(refused).rejects.toThrow(PostgresUnusable);
    await expect(refused).rejects.toThrow(
      new RegExp(
        `^cannot listen for Postgres on 127.0.0.1, port ${port}: .*EADDRINUSE.* with --host and --postgres-port.$`,
      ),
    );
    expect([
      existsSync(join(`${fakes.data}.postgres`, "owner")),
      existsSync(join(`${fakes.data}.postgres`, "s")),
    ]).toEqual([false, false]);
  });

  it("a copy of the store from before a branch is refused beside the data of that branch, which stays", async () => {
    await fakes[Symbol.asyncDispose]();
    fakes = new ServiceOnFakes({ keepsStore: true });
    await fakes.start(seed);
    await fakes.stop();
    const copy = `${fakes.data}.copy`;
    copyFileSync(fakes.data, copy);
    await fakes.start();
    const { id } = await fakes.branch({}, []);
    await fakes.stop();
    copyFileSync(copy, fakes.data);
    await expect(fakes.open()).rejects.toThrow("has data that the store of --data is too old to know");
    expect(readdirSync(join(`${fakes.data}.postgres`, "branches")).filter((name) => name.startsWith(id))).toHaveLength(
      1,
    );
  });

  it("servers of another store are not taken over", async () => {
    await fakes.start(seed);
    await fakes.stop();
    const refused = fakes.open(seed);
    await expect(refused).rejects.toThrow("belongs to another store than the one of --data");
  });
});

describe("pooled hosts", () => {
  /** Begins the service beside a PgBouncer; answers its directory. */
  const beside = async (version: string, most = Number.POSITIVE_INFINITY) => {
    const { path, remove } = temporaryDirectory("pgbouncer");
    onTestFinished(remove);
    writeFileSync(join(path, "pgbouncer"), "", { mode: 0o755 });
    fakes = new ServiceOnFakes({ env: { PATH: path } });
    fakes.machine.most = most;
    fakes.machine.ends.set("pgbouncer", { status: 0, output: `PgBouncer ${version}` });
    await fakes.start(seed);
    return path;
  };
  const warnings = async (version: string) => {
    const path = await beside(version);
    return fakes.lines.map((line) => line.replace(path, ""));
  };

  it.each(["1.21.0", "1.20.1"])(
    "clients of a pooled host reach their server through one pooler, which ends with that server: %s",
    async (version) => {
      await beside(version);
      const clients = [await client("app", { pooled: true }), await client("app", { pooled: true })];
      expect(await Promise.all(clients.map((one) => loggedIn(one)))).toEqual([expect.any(String), expect.any(String)]);
      const { backend } = fakes.core.context;
      const counts = () => [backend.connections(fakes.compute(), true), backend.connections(fakes.compute(), false)];
      expect([fakes.machine.poolers.size, counts()]).toEqual([1, [2, 0]]);
      await fakes.change(`POST ${compute}/suspend`);
      await expect.poll(() => [fakes.machine.poolers.size, counts()]).toEqual([0, [0, 0]]);
    },
  );

  it("a client of a pooled host takes the place of a session that PgBouncer has kept, and a direct one its own", async () => {
    await beside("1.21.0", 2 * 54);
    await fakes.change(`POST ${compute}/start`);
    fakes.machine.number = 54;
    fakes.clock.advance(second);
    await fakes.clock.looks();
    expect(await loggedIn(await client("app", { pooled: true }))).not.toContain("FATAL");
    expect(await loggedIn(await client("app"))).toContain("have their share");
  });

  it("logs that are too long are emptied every second, the server's, the pooler's and that of servers on copies", async () => {
    await beside("1.21.0");
    await loggedIn(await client("app", { pooled: true }));
    const { id } = await fakes.branch({});
    const held = Promise.withResolvers<undefined>();
    fakes.machine.answer = ({ sql }) => (sql === "SHOW server_version" ? held.promise : undefined);
    const reading = fakes.postgres.catalog.schema(id, "stock", undefined).then(() => "read", String);
    await fakes.until(() => fakes.machine.asked("stock").includes("SHOW server_version"));
    const [copy] = await fakes.names("making");
    const names = [`logs/${primary}.log`, `logs/${primary}-pooler.log`, `making/${copy}`];
    const logs = names.map((name) => join(`${fakes.data}.postgres`, name));
    for (const log of logs) {
      writeFileSync(log, "");
      truncateSync(log, 4_000_001);
    }
    fakes.clock.advance(second);
    await expect.poll(() => logs.map((log) => statSync(log).size)).toEqual([0, 0, 0]);
    held.resolve(undefined);
    await reading;
  });

  it("a compute that is deleted leaves no file of its pooler behind", async () => {
    await beside("1.21.0");
    await loggedIn(await client("app", { pooled: true }));
    expect(await fakes.names("poolers")).toEqual([`${primary}.ini`, `${primary}.users`]);
    writeFileSync(join(`${fakes.data}.postgres`, "logs", `${primary}-pooler.log`), "");
    await fakes.change(`DELETE ${compute}`);
    await expect.poll(async () => [...(await fakes.names("poolers")), ...(await fakes.names("logs"))]).toEqual([]);
  });

  it("a client of a direct host has no pooler before its server", async () => {
    await beside("1.21.0");
    await loggedIn(await client());
    expect(fakes.machine.poolers.size).toBe(0);
  });

  it("a service that ends waits for its poolers too, however long their ends take", async () => {
    await beside("1.21.0");
    await loggedIn(await client("app", { pooled: true }));
    fakes.machine.stopMs = 400;
    await fakes.stop();
    expect(fakes.machine.poolers.size).toBe(0);
  });

  it("the operator of the service reads what the machine's PgBouncer lacks, and that there is none", async () => {
    expect(await warnings("1.21.0")).toEqual([]);
    expect(await warnings("1.20.1")).toEqual([
      "/pgbouncer is older than 1.21: clients of pooled hosts cannot use prepared statements.",
    ]);
    fakes = await ServiceOnFakes.start();
    expect(fakes.lines).toEqual([
      "pgbouncer is not on the path: clients of pooled hosts reach their servers directly.",
    ]);
  });
});

it("an empty XDG_CACHE_HOME counts as none: programs that are fetched lie below the home", async () => {
  const home = temporaryDirectory("home");
  onTestFinished(() => home.remove());
  fakes = new ServiceOnFakes({ env: { XDG_CACHE_HOME: "", HOME: home.path }, settings: { binaries: undefined } });
  await fakes.open(seed);
  await expect(fakes.postgres.begin(fakes.core, [17])).rejects.toThrow("no server of Postgres 17 was found");
  expect(readdirSync(join(home.path, ".cache", "compute-operator"))).toEqual(["postgres"]);
});

describe("the history of a branch", () => {
  it("the log of a branch is kept every five seconds while its primary runs", async () => {
    await fakes.start(seed);
    await fakes.change(`POST ${compute}/start`);
    const { data } = fakes.serverOf();
    const kept = () => fakes.names(join("history", data.directory.split("/").at(-1) ?? "", "wal"));
    for (let times = 1; times <= 2; times += 1) {
      fakes.write(`row ${times}`);
      data.switchLog();
      fakes.clock.advance(2 * second);
      await fakes.clock.looks();
      expect(await kept()).toHaveLength(times - 1);
      fakes.clock.advance(3 * second);
      await expect.poll(kept).toHaveLength(times);
      await expect.poll(() => fakes.clock.waitsOf(5 * second)).toBe(1);
    }
    expect(fakes.core.context.backend.history(main)?.bytes).toBeGreaterThan(0);
    expect(fakes.core.context.backend.history("br-none")).toBeUndefined();
  });

  it("the history of a branch goes back as far as its project keeps it, in the time of the service", async () => {
    const prune = vi.spyOn(BranchHistory.prototype, "prune");
    onTestFinished(() => prune.mockRestore());
    fakes = new ServiceOnFakes({ timeScale: 2 });
    await fakes.start(seed);
    await fakes.change(`PATCH /projects/${project}`, { project: { history_retention_seconds: 3600 } });
    await fakes.change(`POST ${compute}/start`);
    fakes.write("row");
    fakes.serverOf().data.switchLog();
    fakes.clock.advance(5 * second);
    await expect.poll(() => prune.mock.calls.length).toBe(1);
    const since = prune.mock.calls[0]?.[0] ?? 0;
    expect(Math.round((fakes.clock.now() - since) / (60 * second))).toBe(30);
  });

  it("why a history cannot be kept is told once, and keeping it is tried again", async () => {
    await fakes.start(seed);
    await fakes.change(`POST ${compute}/start`);
    const { data } = fakes.serverOf();
    const history = join(`${fakes.data}.postgres`, "history");
    const wal = join(history, data.directory.split("/").at(-1) ?? "", "wal");
    mkdirSync(join(wal, data.segmentName), { recursive: true });
    data.switchLog();
    for (let times = 0; times < 2; times += 1) {
      fakes.clock.advance(5 * second);
      expect(fakes.clock.waitsOf(5 * second)).toBe(0);
      await expect.poll(() => fakes.clock.waitsOf(5 * second)).toBe(1);
    }
    const told = fakes.lines.filter((line) => line.startsWith(`the history of branch ${main} cannot be kept`));
    expect(told).toHaveLength(1);
  });
});

it("a service that ends leaves no server, no socket and no wait", async () => {
  await fakes.start(seed);
  await fakes.change(`POST ${compute}/start`);
  const root = `${fakes.data}.postgres`;
  await loggedIn(await client());
  expect(existsSync(join(root, "s"))).toBe(true);
  const { host, port } = fakes.postgres.backend.address;
  await fakes.stop();
  expect([fakes.machine.servers.size, existsSync(join(root, "s")), existsSync(join(root, "owner"))]).toEqual([
    0,
    false,
    false,
  ]);
  const refused = new Promise((resolve) => connect(port, host).once("error", (error) => resolve(error.message)));
  expect(await refused).toContain("ECONNREFUSED");
  expect(fakes.clock.pending).toBe(0);
});

it("the schema of a database cannot be read before the service has begun", async () => {
  await fakes.open(seed);
  const { status, body } = await fakes.send(`GET /projects/${project}/branches/${main}/schema?db_name=stock`);
  expect([status, body["message"]]).toEqual([503, "the service is starting up"]);
});

it.each([
  ["the data that it makes", "addBase", (): void => void fakes.send("POST /projects", { project: {} })],
  ["the log that it keeps", "archive", (): void => fakes.clock.advance(5 * second)],
] as const)(
  "a service that ends waits for %s: the directory is nobody's to take away before",
  async (_, step, begin) => {
    await fakes.start(seed);
    await fakes.change(`POST ${compute}/start`);
    const held = Promise.withResolvers<never>();
    const steps = vi.spyOn(BranchHistory.prototype, step).mockReturnValueOnce(held.promise);
    onTestFinished(() => steps.mockRestore());
    begin();
    await expect.poll(() => steps.mock.calls.length).toBe(1);
    let hasEnded = false;
    const ending = fakes.stop().then(() => void (hasEnded = true));
    await fakes.clock.looks();
    expect(hasEnded).toBe(false);
    held.reject(new Error("the service ends"));
    await ending;
  },
);
