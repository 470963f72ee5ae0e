import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { arrive } from "../../../../src/service/computes/connect.ts";
import { Home } from "../../../../src/service/postgres/data/home.ts";
import { Sessions } from "../../../../src/service/postgres/fleet/sessions.ts";
import { PostgresServer } from "../../../../src/service/postgres/server/server.ts";
import { Visitor } from "../../console/visitor.ts";
import { ServiceOnFakes } from "../fake/fake-service.ts";
import { main, primary, project } from "../rig.ts";

const compute = `/projects/${project}/endpoints/${primary}`;
const branch = `/projects/${project}/branches/${main}`;
const presentQuery = "SELECT datname, rolname";

let fakes: ServiceOnFakes;
beforeEach(async () => {
  fakes = await ServiceOnFakes.start();
});
afterEach(() => fakes[Symbol.asyncDispose]());

const start = () => fakes.change(`POST ${compute}/start`);
const suspend = () => fakes.outcome(`POST ${compute}/suspend`);
const replica = () => fakes.endpoint({ branch_id: main, type: "read_only" });

/** What servers did from a moment on: `start` or `end`, and whose data. */
function eventsFrom(moment: number): string[] {
  return fakes.machine.events.slice(moment).map((event) => event.replace(/\.\w+$/, ""));
}
const now = () => fakes.machine.events.length;

/** The names of the main branch's databases, as the API has them. */
const databases = () => fakes.store.catalogs.databases(main).map(({ name }) => name);

describe("what clients change with SQL", () => {
  const make = () =>
    fakes.serverOf().data.change(fakes.clock.now(), (content) => {
      content.databases["made"] = "app";
    });

  it("databases that clients made are shown when the compute is suspended, and its server makes none again", async () => {
    await start();
    make();
    expect(databases()).not.toContain("made");
    await suspend();
    expect(databases()).toContain("made");
    await start();
    expect(fakes.machine.asked().filter((sql) => sql.includes('CREATE DATABASE "made"'))).toEqual([]);
  });

  it("what clients change is shown to a call of their branch, while its primary runs, and to that of no other", async () => {
    const show = (branchId: string) => {
      const params = { project_id: project, branch_id: branchId };
      return fakes.postgres.driverAccess.refresh({
        path: "/projects/{project_id}/branches/{branch_id}/databases",
        params,
      });
    };
    const { id } = await fakes.branch({}, [{ type: "read_write" }]);
    await start();
    await replica();
    make();
    await show(id);
    expect(databases()).not.toContain("made");
    await show(main);
    expect(databases()).toContain("made");
    expect(fakes.store.catalogs.databases(id).map(({ name }) => name)).not.toContain("made");
    await suspend();
    const moment = fakes.machine.statements.length;
    await show(main);
    expect(fakes.machine.statements.length).toBe(moment);
  });

  it("a role that owns a database made with SQL is not deleted in the console either", async () => {
    await start();
    await fakes.change(`POST ${branch}/roles`, { role: { name: "reporter" } });
    fakes.serverOf().data.change(fakes.clock.now(), (content) => {
      content.databases["made"] = "reporter";
    });
    const person = new Visitor(fakes.core).signIn("acc-ana");
    const form = { method: "POST", path: `/app${branch}/roles/delete`, headers: { cookie: person.cookie ?? "" } };
    const reached = fakes.core.reached(form);
    expect(reached).toBeDefined();
    if (reached) await fakes.postgres.driverAccess.refresh(reached);
    expect(person.post(form.path, { name: "reporter" }).status).toBe(422);
  });

  it("no session stays behind on a server whose settings, roles and databases have changed", async () => {
    await start();
    for (const memory of ["7MB", "8MB"]) {
      await fakes.change(`PATCH ${compute}`, { endpoint: { settings: { pg_settings: { work_mem: memory } } } });
    }
    await fakes.change(`PATCH ${compute}`, { endpoint: { settings: { pg_settings: {} } } });
    expect(fakes.serverOf().setting("work_mem")).toBeUndefined();
    await expect.poll(() => fakes.serverOf().sessions).toBe(0);
  });

  it.each<[string, () => Promise<unknown>]>([
    [
      "a role and a database are made and deleted",
      async () => {
        await fakes.change(`POST ${branch}/roles`, { role: { name: "reporter" } });
        await fakes.change(`POST ${branch}/databases`, { database: { name: "more", owner_name: "reporter" } });
        await fakes.change(`DELETE ${branch}/databases/more`);
        await fakes.change(`DELETE ${branch}/roles/reporter`);
      },
    ],
    ["a password is reset", () => fakes.change(`POST ${branch}/roles/app/reset_password`)],
    ["a branch is made of the present", () => fakes.branch({}, [{ type: "read_write" }])],
    ["a branch is made of the schema", () => fakes.branch({ init_source: "parent-schema" }, [{ type: "read_write" }])],
    [
      "a branch is made of the past",
      async () => {
        fakes.clock.advance(1000);
        const parent_timestamp = new Date(fakes.clock.now()).toISOString();
        fakes.clock.advance(1000);
        await fakes.branch({ parent_timestamp }, [{ type: "read_write" }]);
      },
    ],
    ["a schema is read", () => fakes.send(`GET ${branch}/schema?db_name=neondb`)],
    ["a replica begins", replica],
  ])("no session of the service stays behind on any server once %s", async (_, act) => {
    await start();
    await act();
    const open = () => [...fakes.machine.servers.values()].map(({ sessions }) => sessions);
    await expect.poll(() => open().filter((sessions) => sessions > 0)).toEqual([]);
  });

  it("a server that does not answer keeps nobody waiting for a suspension for longer than a second", async () => {
    await start();
    make();
    fakes.machine.answer = ({ sql }) => (sql.startsWith(presentQuery) ? new Promise(() => {}) : undefined);
    const suspending = suspend();
    await fakes.until(() => fakes.machine.statements.at(-1)?.sql.startsWith(presentQuery) === true);
    const { pending } = fakes.clock;
    expect(fakes.machine.servers.size).toBe(1);
    fakes.clock.advance(1000);
    expect(await suspending).toEqual(["suspend_compute finished"]);
    expect([databases().includes("made"), fakes.machine.servers.size, pending - fakes.clock.pending]).toEqual([
      false,
      0,
      1,
    ]);
  });

  it("a server that refuses the question is suspended all the same, and leaves no wait behind", async () => {
    await start();
    const { pending } = fakes.clock;
    fakes.machine.answer = ({ sql }) => (sql.startsWith(presentQuery) ? new Error("not now") : undefined);
    expect(await suspend()).toEqual(["suspend_compute finished"]);
    expect([fakes.clock.pending, fakes.errors]).toEqual([pending, []]);
  });
});

describe("roles and databases that cannot be brought into a server at its start", () => {
  const refuse = () => {
    fakes.machine.answer = ({ sql }) => (/^(?:CREATE|ALTER) ROLE "/.test(sql) ? new Error("out of memory") : undefined);
  };

  it("the start fails on data that has none yet, and leaves no server", async () => {
    refuse();
    const [operation] = await start();
    expect([operation?.status, operation?.error, fakes.machine.servers.size]).toEqual(["failed", "out of memory", 0]);
  });

  it("a change of an API's role fails that is held up also at the start which it takes, and the compute goes on", async () => {
    await start();
    refuse();
    const [operation] = await fakes.change(`POST ${branch}/roles`, { role: { name: "reader" } });
    expect([operation?.status, operation?.error, fakes.machine.servers.size]).toEqual(["failed", "out of memory", 1]);
  });

  it("the start goes on with what the data has from before, and the operator of the service reads why", async () => {
    await start();
    await suspend();
    await fakes.change(`PATCH ${compute}`, { endpoint: { disabled: true } });
    await fakes.send(`POST ${branch}/roles`, { role: { name: "reader" } });
    await fakes.settled();
    await fakes.change(`PATCH ${compute}`, { endpoint: { disabled: false } });
    refuse();
    const [operation] = await start();
    expect([operation?.status, fakes.lines.at(-1)]).toEqual([
      "finished",
      `roles and databases of branch ${main} are not all as the API shows them: out of memory. The next change or start tries again.`,
    ]);
    fakes.machine.answer = () => undefined;
    await fakes.change(`POST ${compute}/restart`);
    expect(Object.keys(fakes.contentOf().roles)).toContain("reader");
  });
});

it("a compute that moves to another branch leaves its server, and comes up on the other's data", async () => {
  await start();
  const other = await fakes.branch({});
  fakes.write("later");
  await fakes.change(`PATCH ${compute}`, { endpoint: { branch_id: other.id } });
  expect([fakes.machine.servers.size, fakes.compute().currentState]).toEqual([0, "idle"]);
  await start();
  expect(fakes.serverOf(other.id).data.content.rows).toEqual([]);
});

it("a compute that comes up on another branch ends its server there only when the schema on it has been read", async () => {
  await start();
  const [to, source] = [await fakes.branch({}), await fakes.branch({})];
  const held = Promise.withResolvers<undefined>();
  fakes.machine.answer = ({ sql }) => (sql.startsWith("BEGIN ISOLATION") ? held.promise : undefined);
  const read = fakes.send(`GET ${branch}/schema?db_name=stock`);
  await fakes.until(() => fakes.machine.asked("stock").at(-1)?.startsWith("BEGIN ISOLATION") === true);
  const { branchData } = fakes.store;
  fakes.core.change(() => branchData.setSource({ branchId: to.id, sourceId: source.id }));
  const moved = await fakes.send(`PATCH ${compute}`, { endpoint: { branch_id: to.id } });
  await fakes.until(() => branchData.sourceOf(to.id) === undefined);
  await fakes.clock.looks();
  held.resolve(undefined);
  expect([moved.status, (await read).status]).toEqual([200, 200]);
  await fakes.settled();
  expect(fakes.machine.events).toContain(`start ${fakes.directoryOf(to.id).split("/").at(-1)}`);
});

it("a server that ends on its own starts again with its data, and none that was stopped does", async () => {
  await start();
  const id = await replica();
  fakes.write("early");
  let moment = now();
  fakes.serverOf().crash();
  await fakes.until(() => now() >= moment + 2);
  await fakes.settled();
  expect(eventsFrom(moment)).toEqual([`crash ${main}`, `start ${main}`]);
  expect(fakes.serverOf().data.content.rows).toEqual(["early"]);
  await suspend();
  moment = now();
  fakes.machine.servers.get(fakes.replicaOf(id))?.crash();
  await fakes.until(() => now() >= moment + 2);
  await fakes.settled();
  expect(eventsFrom(moment)).toEqual([`crash ${id}`, `start ${id}`]);
  expect(fakes.compute().currentState).toBe("idle");
});

it("two primaries never have one branch's data: the first ends before the second starts", async () => {
  await start();
  await fakes.change(`DELETE ${compute}`);
  const moment = now();
  await fakes.endpoint({ branch_id: main, type: "read_write" });
  expect([fakes.machine.servers.size, eventsFrom(moment).at(-1)]).toEqual([1, `start ${main}`]);
});

it("a service that ends while a server starts stops that one too, and the operation stays for the next service", async () => {
  const held = Promise.withResolvers<undefined>();
  fakes.machine.answer = ({ sql }) => (sql.startsWith(presentQuery) ? held.promise : undefined);
  await fakes.send(`POST ${compute}/start`);
  await fakes.until(() => fakes.machine.servers.size === 1);
  const { store } = fakes;
  const stopping = fakes.postgres.close();
  held.resolve(undefined);
  await stopping;
  expect([fakes.machine.servers.size, store.operations.openEnded().length]).toEqual([0, 1]);
});

it("a server that is up just as the service ends is stopped with it, and the compute's clients see none", async () => {
  const startServer = PostgresServer.start.bind(PostgresServer);
  let stopping: Promise<void> | undefined;
  vi.spyOn(PostgresServer, "start").mockImplementation(async (...given) => {
    const server = await startServer(...given);
    stopping ??= fakes.postgres.close();
    return server;
  });
  onTestFinished(() => void vi.restoreAllMocks());
  await fakes.send(`POST ${compute}/start`);
  await fakes.until(() => stopping !== undefined);
  await stopping;
  expect([eventsFrom(0).slice(-2), fakes.machine.servers.size]).toEqual([[`start ${main}`, `end ${main}`], 0]);
});

it("a compute whose start waits for another one on its branch is not started by a service that ends", async () => {
  const id = await replica();
  await fakes.change(`POST /projects/${project}/endpoints/${id}/suspend`);
  const held = Promise.withResolvers<undefined>();
  fakes.machine.answer = ({ sql }) => (sql.startsWith(presentQuery) ? held.promise : undefined);
  const moment = now();
  fakes.core.change((context, at) => [primary, id].map((one) => arrive(context, fakes.compute(one), at)));
  await fakes.until(() => fakes.machine.servers.size === 1);
  await fakes.clock.looks();
  const stopping = fakes.stop();
  held.resolve(undefined);
  await stopping;
  expect(eventsFrom(moment)).toEqual([`start ${main}`, `end ${main}`]);
  expect(fakes.errors).toEqual([]);
});

it("a service that ends waits for the server on which it reads for a caller", async () => {
  const held = Promise.withResolvers<undefined>();
  fakes.machine.answer = ({ sql }) => (sql === "SHOW server_version" ? held.promise : undefined);
  const reading = fakes.postgres.catalog.schema(main, "stock", undefined).then(() => "read", String);
  await fakes.until(() => fakes.machine.asked("stock").includes("SHOW server_version"));
  const stopping = fakes.stop().then(() => fakes.machine.servers.size);
  await fakes.clock.looks();
  held.resolve(undefined);
  expect(await stopping).toBe(0);
  await reading;
});

it("the clients of a compute that is deleted are sent away at once, also while its branch is copied, for which its server goes on", async () => {
  await start();
  const ended = vi.spyOn(Sessions.prototype, "logOut");
  onTestFinished(() => ended.mockRestore());
  const held = Promise.withResolvers<undefined>();
  fakes.machine.answer = ({ sql }) => (sql.includes("pg_backup_start") ? held.promise : undefined);
  await fakes.send(`POST /projects/${project}/branches`, {});
  await fakes.until(() => fakes.machine.asked("postgres").some((sql) => sql.includes("pg_backup_start")));
  expect((await fakes.send(`DELETE ${compute}`)).status).toBe(200);
  await fakes.clock.looks();
  expect([ended.mock.calls, fakes.machine.servers.size]).toEqual([[[primary, undefined]], 1]);
  held.resolve(undefined);
  await fakes.settled();
  await fakes.until(() => fakes.machine.servers.size === 0);
  expect(fakes.operations().at(-1)?.status).toBe("finished");
});

it("an operation on a branch waits for two readings of its schema at most, however many callers there are", async () => {
  await start();
  const held = Promise.withResolvers<undefined>();
  const order: string[] = [];
  fakes.machine.answer = ({ sql }) => {
    if (sql.includes("ROLE")) order.push("reset");
    if (sql !== "SHOW server_version") return undefined;
    order.push("reading");
    return held.promise;
  };
  const read = () => fakes.postgres.catalog.schema(main, "stock", undefined);
  const readings = [read(), read(), read(), read()].map((one) => Promise.resolve(one).then(() => "read", String));
  await fakes.until(() => order.length === 1);
  await fakes.send(`POST ${branch}/roles/app/reset_password`);
  held.resolve(undefined);
  await Promise.all(readings);
  await fakes.settled();
  expect(order.indexOf("reset")).toBe(2);
});

it("a server on which the service reads has the limits of the last one where transactions are prepared in its data", async () => {
  const control = join(fakes.directoryOf(), "global", "pg_control");
  const limits = async () => {
    const held = Promise.withResolvers<undefined>();
    fakes.machine.answer = ({ sql }) => (sql === "SHOW server_version" ? held.promise : undefined);
    const moment = fakes.machine.asked("stock").length;
    const text = readFileSync(control);
    for (const [at, value] of [
      [180, 901],
      [184, 28],
      [196, 256],
    ] as const)
      text.writeInt32LE(value, at);
    writeFileSync(control, text);
    const reading = fakes.postgres.catalog.schema(main, "stock", undefined).then(() => "read", String);
    await fakes.until(() => fakes.machine.asked("stock").slice(moment).includes("SHOW server_version"));
    const server = fakes.machine.servers.get(fakes.directoryOf());
    const names = ["max_connections", "max_worker_processes", "max_locks_per_transaction"];
    const shown = names.map((name) => server?.setting(name));
    held.resolve(undefined);
    await reading;
    return shown;
  };
  expect(await limits()).toEqual(["112", "12", "64"]);
  writeFileSync(join(fakes.directoryOf(), "pg_twophase", "00000001"), "");
  expect(await limits()).toEqual(["901", "28", "256"]);
});

it("each server that only the service uses has a log of its own, which goes with it, also where it does not start", async () => {
  const { id } = await fakes.branch({});
  const held = Promise.withResolvers<undefined>();
  fakes.machine.answer = ({ sql }) => (sql === "SHOW server_version" ? held.promise : undefined);
  const read = (branchId: string) => fakes.postgres.catalog.schema(branchId, "stock", undefined);
  const reading = [main, id].map((one) => read(one).then(() => "read", String));
  await fakes.until(() => fakes.machine.servers.size === 2);
  const logs = [main, id].map((one) => `${basename(fakes.directoryOf(one))}.log`);
  expect((await fakes.names("making")).toSorted()).toEqual(logs.toSorted());
  held.resolve(undefined);
  await Promise.all(reading);
  fakes.machine.complaint = "FATAL:  no more\n";
  await expect(read(main)).rejects.toThrow("the server did not start: no more");
  expect([...(await fakes.names("making")), ...(await fakes.names("logs"))]).toEqual([]);
});

it("a server that an earlier process has left in the data of a branch is stopped before another starts", async () => {
  writeFileSync(join(fakes.directoryOf(), "postmaster.pid"), `99\n${fakes.directoryOf()}\n0\n`);
  const found = vi.spyOn(fakes.machine, "processesIn").mockResolvedValueOnce([99]);
  onTestFinished(() => found.mockRestore());
  await start();
  expect(eventsFrom(0).slice(-2)).toEqual(["signal 99", `start ${main}`]);
});

it("a server starts without what is prepared in its data and would keep every session from it", async () => {
  const prepared = join(fakes.directoryOf(), "pg_twophase", "0000000000000001");
  // A lock in ACCESS EXCLUSIVE MODE of pg_database.
  const lock = Buffer.from("140000000100000001000000ee040000000000000000000008000000", "hex");
  writeFileSync(prepared, lock);
  await start();
  expect(existsSync(prepared)).toBe(false);
});

it("the usage of a compute that runs is recorded while it does, so that a service that is killed loses little", async () => {
  await start();
  const before = fakes.store.projects.get(project)?.activeMs ?? 0;
  fakes.clock.advance(3_600_000);
  await expect.poll(() => fakes.store.projects.get(project)?.activeMs).toBeGreaterThan(before + 3_500_000);
});

it("the logs of a compute that runs, and of its pooler, are emptied where they are too long", async () => {
  await start();
  const logs = ["", "-pooler"].map((what) => join(`${fakes.data}.postgres`, "logs", `${primary}${what}.log`));
  for (const log of logs) writeFileSync(log, Buffer.alloc(4_000_001));
  fakes.clock.advance(1000);
  await expect.poll(() => logs.map((log) => statSync(log).size)).toEqual([0, 0]);
});

it("the history of a branch is kept while its primary runs, every five seconds", async () => {
  await start();
  const segment = fakes.serverOf().data.segmentName;
  fakes.serverOf().data.switchLog();
  fakes.clock.advance(5000);
  const generation = fakes.directoryOf().split("/").at(-1) ?? "";
  await expect.poll(() => fakes.names(`history/${generation}/wal`)).toContain(segment);
});

it("the user of the servers may read what a change of settings writes", async () => {
  await fakes[Symbol.asyncDispose]();
  const open = Home.open.bind(Home);
  const user = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0, name: "postgres" };
  const opening = vi.spyOn(Home, "open");
  onTestFinished(() => opening.mockRestore());
  opening.mockImplementation(async (settings) => Object.assign(await open(settings), { user }));
  fakes = await ServiceOnFakes.start();
  await start();
  const identities = () => readFileSync(join(fakes.directoryOf(), "pg_ident.conf"), "utf8");
  const atStart = identities();
  await fakes.change(`PATCH ${compute}`, { endpoint: { settings: { pg_settings: { work_mem: "7MB" } } } });
  expect([atStart.includes('"postgres"'), identities()]).toEqual([true, atStart]);
});

it("no server gets settings that a service without servers, or an earlier version, has taken and no compute may have", async () => {
  const written = () => readFileSync(join(fakes.directoryOf(), "postgresql.conf"), "utf8");
  const pg_settings = { work_mem: "7MB", Restore_Command: "touch /tmp/taken", archive_library: "/tmp/taken.so" };
  const stored = fakes.store.endpoints.byId(primary);
  if (stored) fakes.core.change(({ store }) => store.endpoints.update({ ...stored, settings: { pg_settings } }));
  await start();
  expect(written()).toContain("work_mem = '7MB'");
  expect(written()).not.toContain("taken");
  const begun = now();
  await fakes.change(`PATCH ${compute}`, { endpoint: { pooler_enabled: true } });
  expect(eventsFrom(begun)).toEqual([]);
  expect(written()).toContain("work_mem = '7MB'");
  expect(written()).not.toContain("taken");
});
