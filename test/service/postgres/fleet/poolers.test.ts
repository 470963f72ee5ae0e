import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createConnection, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { Home } from "../../../../src/service/postgres/data/home.ts";
import { Poolers } from "../../../../src/service/postgres/fleet/poolers.ts";
import type { GuardedServer } from "../../../../src/service/postgres/host/processes.ts";
import { Sockets, socketIn } from "../../../../src/service/postgres/host/sockets.ts";
import { systemProcesses } from "../../../../src/service/postgres/host/system-processes.ts";
import { limitsOf, type ServerConfig } from "../../../../src/service/postgres/server/config.ts";
import { PostgresServer } from "../../../../src/service/postgres/server/server.ts";
import { realClock } from "../../../support/real-clock.ts";
import { HastenedClock } from "../fake/hastened-clock.ts";

const system = systemProcesses({ pid: process.pid, uid: process.getuid?.() ?? 0, node: process.execPath });

/** A program that ends when the test says so. */
class Program implements GuardedServer {
  readonly ended: Promise<number | null>;
  stops = 0;
  #end: (status: number) => void = () => {};

  constructor() {
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  stop(): void {
    this.stops += 1;
  }

  end(): void {
    this.#end(0);
  }
}

/** What a pooler answers to a login and to each statement. */
const [letIn, done] = ["R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I", "C\0\0\0\x0bRELOAD\0Z\0\0\0\x05I"];

/** Listens on the socket that its configuration names, and removes that path when it ends, as PgBouncer does. */
class FakePooler extends Program {
  /** What its console was told. */
  readonly told: string[] = [];
  answers = true;
  says = done;
  /** The number of sessions that it has. */
  sessions = 0;
  readonly #path: string;
  readonly #server = createServer((client) => {
    this.sessions += 1;
    client
      .on("error", () => {})
      .once("close", () => {
        this.sessions -= 1;
      })
      .once("data", () => {
        client.write(letIn);
        client.on("data", (chunk) => {
          const text = chunk.toString("latin1");
          if (!text.startsWith("Q")) return;
          this.told.push(text.slice(5, -1));
          if (this.answers) client.write(this.says);
        });
      });
  });

  constructor(ini: string) {
    super();
    const setting = (name: string) => new RegExp(`^${name} = (.*)$`, "m").exec(readFileSync(ini, "utf8"))?.[1] ?? "";
    this.#path = join(setting("unix_socket_dir"), `.s.PGSQL.${setting("listen_port")}`);
    this.#server.listen(this.#path);
  }

  override end(): void {
    this.#server.close();
    rmSync(this.#path, { force: true });
    super.end();
  }
}

const verifier = { iterations: 4096, salt: Buffer.alloc(16), storedKey: Buffer.alloc(32), serverKey: Buffer.alloc(32) };
const app = { role: "app", verifier, endFormer: () => Promise.resolve() };

/** The lines of roles in the file of users of the compute `ep-main`. */
function learned(): string[] {
  const [console = "", ...lines] = readFileSync(join(home.root, "poolers", "ep-main.users"), "utf8")
    .trim()
    .split("\n");
  expect(console).toMatch(/^"cloud_admin" "[0-9a-f]{48}"$/);
  return lines.map((line) => line.replace(/A{10,}/g, "A"));
}

let directory: string;
let home: Home;
let sockets: Sockets;
let poolers: Poolers;
let config: ServerConfig;
let started: FakePooler[];
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), "cpg-poolers-"));
  home = await Home.open({ data: join(directory, "data"), user: undefined, processes: system, clock: realClock });
  started = [];
  const guard = (_: string, [ini = ""]: readonly string[]) => {
    const pooler = new FakePooler(ini);
    started.push(pooler);
    return pooler;
  };
  sockets = new Sockets(home.sockets);
  const processes = { ...system, guard };
  const program = { path: "pgbouncer", preparesStatements: false };
  poolers = new Poolers({ processes, clock: realClock, home, sockets, program });
  const limits = limitsOf({ min: 0.25, max: 1 });
  config = {
    major: 17,
    limits,
    sockets: sockets.of("branch br-main"),
    temporaryDiskKiB: undefined,
    settings: {},
    logical: false,
    primary: undefined,
  };
});
afterEach(async () => {
  for (const pooler of started) pooler.end();
  await poolers.idle();
  await home.close();
  rmSync(directory, { recursive: true });
});

function postgres(): { program: Program; server: PostgresServer } {
  const program = new Program();
  return { program, server: new PostgresServer(program) };
}

/** Connects to a socket; answers the error's code where it cannot. */
function reached(path: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = createConnection(path, () => {
      socket.destroy();
      resolve("reached");
    });
    socket.once("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
  });
}

it("gives all clients of one server the same pooler", async () => {
  const { server } = postgres();
  const paths = await Promise.all([1, 2, 3].map(() => poolers.socketFor("ep-main", { server, config }, app)));
  expect(new Set(paths).size).toBe(1);
  expect(started).toHaveLength(1);
});

it("takes as many clients as pooled hosts have, for nine tenths of the server's connections", async () => {
  await poolers.socketFor("ep-main", { server: postgres().server, config }, app);
  const ini = readFileSync(join(home.root, "poolers", "ep-main.ini"), "utf8");
  expect(ini).toContain("\nmax_client_conn = 10000\n");
  expect(ini).toContain(`\ndefault_pool_size = ${Math.floor(0.9 * config.limits.maxConnections)}\n`);
});

it("gives two computes poolers of their own", async () => {
  const [one, other] = [postgres(), postgres()];
  const first = await poolers.socketFor("ep-main", { server: one.server, config }, app);
  const second = await poolers.socketFor("ep-other", { server: other.server, config }, app);
  expect(second).not.toBe(first);
  one.program.end();
  await expect.poll(() => started.map(({ stops }) => stops)).toEqual([1, 0]);
});

it("gives a replica's pooler another socket than the replica itself has", async () => {
  const replica = { ...config, sockets: sockets.of("compute ep-main") };
  const path = await poolers.socketFor("ep-main", { server: postgres().server, config: replica }, app);
  expect(path).not.toBe(socketIn(replica.sockets));
});

it("starts the pooler of a compute's next server when the last one has ended, whose end removes the socket", async () => {
  const [before, after] = [postgres(), postgres()];
  await poolers.socketFor("ep-main", { server: before.server, config }, app);
  before.program.end();
  await expect.poll(() => started[0]?.stops).toBe(1);
  const next = poolers.socketFor("ep-main", { server: after.server, config }, app);
  // Without the wait, the next one listens now, and the last one takes its socket away.
  const early = await Promise.race([
    next,
    new Promise<undefined>((resolve) => realClock.after(100, () => resolve(undefined))),
  ]);
  expect(early).toBeUndefined();
  started[0]?.end();
  expect(await reached(await next)).toBe("reached");
  expect(started).toHaveLength(2);
});

it("stops the pooler of a server before, although nobody has noticed that server's end", async () => {
  const [before, after] = [postgres(), postgres()];
  await poolers.socketFor("ep-main", { server: before.server, config }, app);
  const next = poolers.socketFor("ep-main", { server: after.server, config }, app);
  await expect.poll(() => started[0]?.stops).toBe(1);
  started[0]?.end();
  expect(await reached(await next)).toBe("reached");
});

it("all poolers are stopped and waited for when all are to be gone, although a server's end was not noticed", async () => {
  await poolers.socketFor("ep-main", { server: postgres().server, config }, app);
  const ended: string[] = [];
  const gone = poolers.idle().then(() => ended.push("idle"));
  await expect.poll(() => started[0]?.stops).toBe(1);
  expect(ended).toEqual([]);
  started[0]?.end();
  await gone;
});

it("a pooler that is being started when all are to be gone is stopped too", async () => {
  const socket = poolers.socketFor("ep-main", { server: postgres().server, config }, app);
  const gone = poolers.idle();
  await socket;
  await expect.poll(() => started.map(({ stops }) => stops)).toEqual([1]);
  started[0]?.end();
  await gone;
});

it("a pooler that has ended on its own is replaced by another before the same server", async () => {
  const { server } = postgres();
  await poolers.socketFor("ep-main", { server, config }, app);
  started[0]?.end();
  await expect.poll(() => started[0]?.stops).toBe(1);
  expect(await reached(await poolers.socketFor("ep-main", { server, config }, app))).toBe("reached");
  expect(started).toHaveLength(2);
});

it("a pooler starts although a path is left of a socket before, whose pooler was killed", async () => {
  const { server } = postgres();
  const path = await poolers.socketFor("ep-main", { server, config }, app);
  started[0]?.end();
  await expect.poll(() => started[0]?.stops).toBe(1);
  writeFileSync(path, "");
  expect(await reached(await poolers.socketFor("ep-main", { server, config }, app))).toBe("reached");
});

it("a pooler that takes no connections for ten seconds is stopped, and the client is told when it has ended", async () => {
  const [silent, time] = [new Program(), new HastenedClock()];
  const processes = { ...system, guard: () => silent };
  const program = { path: "pgbouncer", preparesStatements: false };
  const slow = new Poolers({ processes, clock: time, home, sockets: new Sockets(home.sockets), program });
  let told = "";
  const refused = slow.socketFor("ep-slow", { server: postgres().server, config }, app).catch((error: unknown) => {
    told = String(error);
  });
  await time.looks();
  expect(silent.stops).toBe(0);
  time.advance(10_000);
  await expect.poll(() => silent.stops).toBe(1);
  await time.looks();
  expect(told).toBe("");
  silent.end();
  await refused;
  expect(told).toBe(`ServerFailed: the connection pooler did not start: ${home.log("ep-slow-pooler")} says why`);
});

it("a pooler learns the verifier of a role with its first client, and again where the role has another one", async () => {
  const { server } = postgres();
  const before = { server, config };
  const other = { ...verifier, salt: Buffer.alloc(16, 255) };
  for (const role of ["app", "app", 'a "b"']) await poolers.socketFor("ep-main", before, { ...app, role });
  expect(started[0]?.told).toEqual(["RELOAD", "RELOAD"]);
  const secret = "SCRAM-SHA-256$4096:A==$A=:A=";
  expect(learned()).toEqual([`"app" "${secret}"`, `"a ""b""" "${secret}"`]);
  await poolers.socketFor("ep-main", before, { ...app, verifier: other });
  expect(started[0]?.told).toHaveLength(3);
  // PgBouncer takes the last of a name.
  expect(learned().at(-1)).toBe('"app" "SCRAM-SHA-256$4096://///////////////////w==$A=:A="');
  await poolers.socketFor("ep-main", before, { ...app, verifier: other });
  expect(started[0]?.told).toHaveLength(3);
  started[0]?.end();
  await expect.poll(() => started[0]?.stops).toBe(1);
  await poolers.socketFor("ep-main", before, app);
  expect([learned(), started[1]?.told]).toEqual([[`"app" "${secret}"`], ["RELOAD"]]);
});

it("a pooler is told each password of a role in a file of its own, as it reads none of the same number and size again", async () => {
  const before = { server: postgres().server, config };
  const numbers: number[] = [];
  for (const salt of [1, 2, 3]) {
    await poolers.socketFor("ep-main", before, { ...app, verifier: { ...verifier, salt: Buffer.alloc(16, salt) } });
    numbers.push(statSync(join(home.root, "poolers", "ep-main.users")).ino);
  }
  expect(numbers[1]).not.toBe(numbers[0]);
  expect(numbers[2]).not.toBe(numbers[1]);
  expect(readdirSync(join(home.root, "poolers"))).toEqual(["ep-main.ini", "ep-main.users"]);
});

it("a pooler knows the 250 roles that came last, as SQL makes them without end, and is told an older one again", async () => {
  const before = { server: postgres().server, config };
  for (let index = 0; index <= 251; index += 1)
    await poolers.socketFor("ep-main", before, { ...app, role: `role ${index}` });
  expect(learned()).toHaveLength(251);
  expect(learned()[0]).toContain('"role 1"');
  await poolers.socketFor("ep-main", before, { ...app, role: "role 2" });
  expect(started[0]?.told).toHaveLength(252);
  await poolers.socketFor("ep-main", before, { ...app, role: "role 0" });
  expect([started[0]?.told.length, learned().at(-1)?.slice(0, 8)]).toEqual([253, '"role 0"']);
  await poolers.socketFor("ep-main", before, { ...app, role: "role 2" });
  expect(started[0]?.told).toHaveLength(253);
});

it("a pooler that does not answer for ten seconds is no reason to wait longer, and is told again later", async () => {
  const time = new HastenedClock();
  const guard = (_: string, [ini = ""]: readonly string[]) => {
    const pooler = new FakePooler(ini);
    started.push(pooler);
    return pooler;
  };
  const program = { path: "pgbouncer", preparesStatements: false };
  const slow = new Poolers({ processes: { ...system, guard }, clock: time, home, sockets, program });
  const before = { server: postgres().server, config };
  await slow.socketFor("ep-main", before, app);
  const [pooler] = started;
  if (!pooler) throw new Error("no pooler has started");
  pooler.answers = false;
  let refusal = "";
  const late = slow.socketFor("ep-main", before, { ...app, role: "other" }).catch((error: unknown) => {
    refusal = String(error);
  });
  await expect.poll(() => pooler.told).toHaveLength(2);
  time.advance(9_000);
  await time.looks();
  expect(refusal).toBe("");
  time.advance(1_000);
  await late;
  expect(refusal).toBe("ServerFailed: the connection pooler does not answer: try later");
  pooler.answers = true;
  await slow.socketFor("ep-main", before, { ...app, role: "other" });
  expect(pooler.told).toHaveLength(3);
  const gone = slow.idle();
  pooler.end();
  await gone;
});

it("a pooler that refuses to read what it is told is not taken for a slow one, and no session stays open there", async () => {
  const before = { server: postgres().server, config };
  await poolers.socketFor("ep-main", before, app);
  const [pooler] = started;
  if (!pooler) throw new Error("no pooler has started");
  await expect.poll(() => pooler.sessions).toBe(0);
  const refusal = "SERROR\0C08P01\0Mcannot open its file\0\0";
  pooler.says = `E\0\0\0${String.fromCharCode(refusal.length + 4)}${refusal}Z\0\0\0\x05I`;
  await expect(poolers.socketFor("ep-main", before, { ...app, role: "other" })).rejects.toThrow("cannot open its file");
  await expect.poll(() => pooler.sessions).toBe(0);
});

it("a name that another role has by now is told again, when what the former role had there is ended", async () => {
  const before = { server: postgres().server, config };
  const former: string[] = [];
  const endFormer = async (oid: string) => {
    await new Promise<void>((resolve) => realClock.after(50, resolve));
    former.push(`${oid} before ${started[0]?.told.length}`);
  };
  const numbered = (oid: string) =>
    poolers.socketFor("ep-main", before, { ...app, verifier: { ...verifier, oid }, endFormer });
  await numbered("16400");
  await numbered("16400");
  expect([former, started[0]?.told.length]).toEqual([[], 1]);
  await numbered("16500");
  await numbered("16500");
  expect([former, started[0]?.told.length]).toEqual([["16400 before 1"], 2]);
  expect(learned()).toHaveLength(2);
});
