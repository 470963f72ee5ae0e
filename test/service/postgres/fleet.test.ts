import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ServiceOnFakes } from "./fake/fake-service.ts";
import { main, primary, project } from "./rig.ts";

const compute = `/projects/${project}/endpoints/${primary}`;
const branch = `/projects/${project}/branches/${main}`;
const presentQuery = "SELECT datname, rolname FROM pg_database";

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

describe("a replica", () => {
  const serverOf = (id: string) => fakes.machine.servers.get(fakes.replicaOf(id));

  it("a replica follows its branch's primary, from data of its own that it keeps", async () => {
    await start();
    fakes.write("early");
    const id = await replica();
    const server = serverOf(id);
    expect(server?.setting("primary_conninfo")).toContain(`port=${fakes.serverOf().setting("port")} user=cloud_admin`);
    expect(server?.setting("port")).not.toBe(fakes.serverOf().setting("port"));
    expect(server?.data.content.rows).toEqual(["early"]);
    const generation = fakes.directoryOf().split(".").at(-1);
    expect(readFileSync(join(fakes.replicaOf(id), "compute-operator-origin"), "utf8")).toBe(`${generation}\n`);
    const backups = () => fakes.machine.asked("postgres").filter((sql) => sql.includes("pg_backup_start")).length;
    expect(backups()).toBe(1);
    await fakes.change(`POST /projects/${project}/endpoints/${id}/restart`);
    expect(backups()).toBe(1);
  });

  it("a replica gets new data where its branch has other data by now", async () => {
    await start();
    const id = await replica();
    await fakes.change(`POST /projects/${project}/endpoints/${id}/suspend`);
    const other = await fakes.branch({});
    await fakes.change(`POST ${branch}/restore`, { source_branch_id: other.id, preserve_under_name: "kept" });
    fakes.write("replaced");
    await fakes.change(`POST /projects/${project}/endpoints/${id}/start`);
    expect(serverOf(id)?.data.content.rows).toEqual(["replaced"]);
    expect(await fakes.names("replicas")).toEqual([id]);
  });

  it("a replica of an idle primary has a server on the primary's data only where that lacks roles", async () => {
    const id = await replica();
    expect(eventsFrom(0).slice(-3)).toEqual([`start ${main}`, `end ${main}`, `start ${id}`]);
    expect(Object.keys(serverOf(id)?.data.content.roles ?? {})).toContain("app");
    const moment = now();
    await fakes.change(`POST /projects/${project}/endpoints/${id}/restart`);
    expect(eventsFrom(moment)).toEqual([`end ${id}`, `start ${id}`]);
  });

  it("a replica has the limits that its primary ever had: it ends before that grows, and comes back after", async () => {
    await start();
    const id = await replica();
    const connections = () => [fakes.serverOf(), serverOf(id)].map((one) => one?.setting("max_connections"));
    const size = (cu: number) => ({ endpoint: { autoscaling_limit_min_cu: cu, autoscaling_limit_max_cu: cu } });
    expect(connections()).toEqual(["450", "450"]);
    let moment = now();
    await fakes.change(`PATCH ${compute}`, size(2));
    expect(eventsFrom(moment)).toEqual([`end ${main}`, `end ${id}`, `start ${main}`, `start ${id}`]);
    expect(connections()).toEqual(["901", "901"]);
    moment = now();
    await fakes.change(`PATCH ${compute}`, size(1));
    expect(eventsFrom(moment)).toEqual([`end ${main}`, `start ${main}`]);
    await fakes.change(`POST /projects/${project}/endpoints/${id}/restart`);
    expect(connections()).toEqual(["450", "901"]);
  });

  it("a replica that waits for its primary to grow is not taken for one that ended on its own", async () => {
    await start();
    const id = await replica();
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const connections = (data: string) => fakes.machine.servers.get(data)?.setting("max_connections");
    fakes.machine.answer = ({ sql, data }) =>
      sql.startsWith(presentQuery) && connections(data) === "901" ? promise : undefined;
    const before = fakes.operations().length;
    const endpoint = { autoscaling_limit_min_cu: 2, autoscaling_limit_max_cu: 2 };
    const growing = fakes.change(`PATCH ${compute}`, { endpoint });
    await fakes.until(() => fakes.machine.servers.size === 1 && connections(fakes.directoryOf()) === "901");
    fakes.core.change(() => {});
    await fakes.until(() => fakes.operations().length > before);
    await new Promise((done) => setImmediate(done));
    resolve(undefined);
    await growing;
    expect([fakes.operations().length - before, connections(fakes.replicaOf(id))]).toEqual([1, "901"]);
  });

  it("roles and databases reach the primary alone", async () => {
    await start();
    const id = await replica();
    const settings = { pg_settings: { work_mem: "7MB" } };
    await fakes.change(`PATCH /projects/${project}/endpoints/${id}`, { endpoint: { settings } });
    expect(serverOf(id)?.setting("work_mem")).toBe("7MB");
    const asked = fakes.machine.statements.filter(({ data }) => data === fakes.replicaOf(id)).map(({ sql }) => sql);
    expect(asked.filter((sql) => !sql.startsWith("SELECT set_config("))).toEqual(["SELECT pg_reload_conf()"]);
  });
});

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
