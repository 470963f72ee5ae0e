import { existsSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { BranchStorage } from "../../../../src/service/postgres/branches/branch-storage.ts";
import { presentQuery } from "../../../../src/service/postgres/catalog/catalog-changes.ts";
import { ServiceOnFakes } from "../fake/fake-service.ts";
import { main, primary, project } from "../rig.ts";

const compute = `/projects/${project}/endpoints/${primary}`;
const branch = `/projects/${project}/branches/${main}`;

let fakes: ServiceOnFakes;
beforeEach(async () => {
  fakes = await ServiceOnFakes.start();
});
afterEach(() => fakes[Symbol.asyncDispose]());

const start = () => fakes.change(`POST ${compute}/start`);
const suspend = () => fakes.change(`POST ${compute}/suspend`);
const replica = () => fakes.endpoint({ branch_id: main, type: "read_only" });

/** What servers did from a moment on: `start` or `end`, and whose data. */
function eventsFrom(moment: number): string[] {
  return fakes.machine.events.slice(moment).map((event) => event.replace(/\.\w+$/, ""));
}
const now = () => fakes.machine.events.length;

describe("a replica", () => {
  const serverOf = (id: string) => fakes.machine.servers.get(fakes.replicaOf(id));

  it("a replica follows its branch's primary, from data of its own that it keeps", async () => {
    await start();
    fakes.write("early");
    const id = await replica();
    const server = serverOf(id);
    const directory = (of = server) => of?.setting("unix_socket_directories");
    expect(server?.setting("primary_conninfo")).toContain(`host=${directory(fakes.serverOf())} `);
    expect(directory()).not.toBe(directory(fakes.serverOf()));
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

  it("no more than four copies for replicas of an owner are made at once, and none once the service ends", async () => {
    await fakes[Symbol.asyncDispose]();
    fakes = await ServiceOnFakes.start(undefined, { projectLock: false });
    const branches: string[] = [];
    while (branches.length < 6) branches.push((await fakes.branch({})).id);
    const [copy, held] = [vi.spyOn(BranchStorage.prototype, "copy"), Promise.withResolvers<undefined>()];
    onTestFinished(() => copy.mockRestore());
    copy.mockReturnValue(held.promise);
    for (const id of branches)
      await fakes.send(`POST /projects/${project}/endpoints`, { endpoint: { branch_id: id, type: "read_only" } });
    await fakes.until(() => copy.mock.calls.length >= 4);
    await fakes.clock.looks();
    expect(copy).toHaveBeenCalledTimes(4);
    const stopped = fakes.stop();
    held.resolve(undefined);
    await stopped;
    expect(copy).toHaveBeenCalledTimes(4);
  });

  it("a replica whose data a killed service has removed in part gets new data", async () => {
    await start();
    const id = await replica();
    await fakes.change(`POST /projects/${project}/endpoints/${id}/suspend`);
    await suspend();
    rmSync(join(fakes.replicaOf(id), "global"), { recursive: true });
    expect(await fakes.outcome(`POST /projects/${project}/endpoints/${id}/start`)).toEqual(["start_compute finished"]);
  });

  it.each([
    ["replaced", "POST", "/start"],
    ["removed", "DELETE", ""],
  ])(
    "the data of a replica loses its mark before it is %s: nothing takes a part of it for all",
    async (_, method, end) => {
      await start();
      const id = await replica();
      await fakes.change(`POST /projects/${project}/endpoints/${id}/suspend`);
      await suspend();
      const [data, left] = [fakes.replicaOf(id), `${fakes.data}-left`];
      // The removal of a link leaves what lies behind it, as one that is broken off would.
      renameSync(data, left);
      symlinkSync(left, data);
      rmSync(join(left, "global"), { recursive: true });
      await fakes.change(`${method} /projects/${project}/endpoints/${id}${end}`);
      await expect.poll(() => existsSync(join(left, "compute-operator-origin"))).toBe(false);
      expect(existsSync(join(left, "standby.signal"))).toBe(true);
    },
  );

  it("a copy for a replica that cannot be finished leaves nothing on the disk", async () => {
    await start();
    fakes.machine.answer = ({ sql }) => (sql.includes("pg_backup_stop") ? new Error("the log is gone") : undefined);
    await replica();
    expect(fakes.operations().at(-1)).toMatchObject({ status: "failed", error: "the log is gone" });
    expect(await fakes.names("making")).toEqual([]);
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

  it("a replica on a copied branch has the limits that the copied data was used with", async () => {
    await fakes.change(`PATCH ${compute}`, {
      endpoint: { autoscaling_limit_min_cu: 2, autoscaling_limit_max_cu: 2 },
    });
    await start();
    await suspend();
    const { computes } = await fakes.branch({}, [{ type: "read_only" }]);
    expect(computes.map((id) => serverOf(id)?.setting("max_connections"))).toEqual(["901"]);
  });

  it("no more replicas of a branch run than can read its log, and one starts once another is suspended", async () => {
    const ids = [];
    for (let i = 0; i < 11; i += 1) ids.push(await replica());
    const last = ids.at(-1) ?? "";
    const reasons = () => fakes.operations().flatMap(({ error }) => error ?? []);
    expect(reasons()).toEqual(["10 replicas of its branch run, and no more can: suspend one"]);
    expect([serverOf(ids[9] ?? ""), serverOf(last)].map((one) => one !== undefined)).toEqual([true, false]);
    await fakes.change(`POST /projects/${project}/endpoints/${ids[0]}/suspend`);
    await fakes.change(`POST /projects/${project}/endpoints/${last}/start`);
    expect(serverOf(last)?.setting("max_wal_senders")).toBe("20");
  });

  it("a replica whose settings its clients hold up keeps them from it, and its primary is not started for that", async () => {
    await start();
    const id = await replica();
    const server = serverOf(id);
    const held = Object.assign(new Error("canceled"), { code: "57014" });
    const ofReplica = fakes.replicaOf(id);
    fakes.machine.answer = ({ sql, data }) =>
      data === ofReplica && sql === "SELECT pg_reload_conf()" ? held : undefined;
    const moment = now();
    const endpoint = { settings: { pg_settings: { work_mem: "7MB" } } };
    const [operation] = await fakes.change(`PATCH /projects/${project}/endpoints/${id}`, { endpoint });
    expect([operation?.status, operation?.error]).toEqual(["failed", expect.stringMatching(/^canceled: a session of/)]);
    const ofServers = eventsFrom(moment).filter((event) => /^(?:start|end) /.test(event));
    expect([ofServers, serverOf(id) === server]).toEqual([[], true]);
  });

  it("a replica that waits for its primary to grow is not taken for one that ended on its own", async () => {
    await start();
    const id = await replica();
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const connections = (data: string) => fakes.machine.servers.get(data)?.setting("max_connections");
    fakes.machine.answer = ({ sql, data }) =>
      sql === presentQuery && connections(data) === "901" ? promise : undefined;
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

  it("a replica that does not come up again beside a primary that grew is started by an operation of its own", async () => {
    await start();
    const id = await replica();
    const connections = (data: string) => fakes.machine.servers.get(data)?.setting("max_connections");
    fakes.machine.answer = ({ sql, data }) => {
      // The primary is up: the next to start is the replica.
      if (sql === presentQuery && connections(data) === "901") fakes.machine.complaint = "FATAL:  not now\n";
      return undefined;
    };
    const before = fakes.operations().length;
    const endpoint = { autoscaling_limit_min_cu: 2, autoscaling_limit_max_cu: 2 };
    await fakes.send(`PATCH ${compute}`, { endpoint });
    await fakes.until(() => fakes.operations().length > before + 1);
    fakes.machine.answer = () => undefined;
    await fakes.settled();
    await fakes.until(() => connections(fakes.replicaOf(id)) === "901");
    const of = fakes.store.operations.ofEndpoint(project, id, 1);
    expect(of.map(({ action, status }) => [action, status])).toEqual([["start_compute", "finished"]]);
  });

  it("a replica of an idle primary keeps its data where the primary's log has ended since, and gets new data else", async () => {
    const id = await replica();
    const [restart, mark] = [`POST /projects/${project}/endpoints/${id}/restart`, join(fakes.replicaOf(id), "mine")];
    writeFileSync(mark, "");
    await fakes.change(restart);
    expect(existsSync(mark)).toBe(true);
    await start();
    fakes.write("later");
    await suspend();
    await fakes.change(restart);
    expect([existsSync(mark), serverOf(id)?.data.content.rows]).toEqual([false, ["later"]]);
  });

  it("a replica that lacks a log which its running primary has needs no new data, whatever other servers run", async () => {
    await start();
    await fakes.branch({}, [{ type: "read_write" }]);
    const id = await replica();
    const mark = join(fakes.replicaOf(id), "mine");
    writeFileSync(mark, "");
    await fakes.change(`POST /projects/${project}/endpoints/${id}/suspend`);
    fakes.write("later");
    await fakes.change(`POST ${compute}/restart`);
    await fakes.change(`POST /projects/${project}/endpoints/${id}/start`);
    expect(existsSync(mark)).toBe(true);
  });

  it("a replica starts beside a primary that lacks a role, and no second server has the primary's data", async () => {
    await start();
    fakes.machine.answer = ({ sql }) => (sql.startsWith('CREATE ROLE "reader"') ? new Error("not now") : undefined);
    await fakes.send(`POST ${branch}/roles`, { role: { name: "reader" } });
    await fakes.settled();
    const moment = now();
    const id = await replica();
    expect(eventsFrom(moment)).toEqual([`start ${id}`]);
  });

  it("a replica whose logins end late, as its primary has ended meanwhile, keeps the branch from no later change", async () => {
    await start();
    const id = await replica();
    fakes.machine.answer = ({ sql, data }) => {
      if (data !== fakes.replicaOf(id) || !sql.includes("pg_last_wal_replay_lsn")) return undefined;
      fakes.machine.answer = () => undefined;
      fakes.serverOf().crash();
      return new Error("not now");
    };
    expect(await fakes.outcome(`POST ${branch}/roles/app/reset_password`)).toContain("apply_config failed");
    await start();
    await fakes.until(() => serverOf(id) !== undefined);
    expect(await fakes.outcome(`POST ${branch}/roles/app/reset_password`)).toEqual(["apply_config finished"]);
  });

  it("a replica at which logins cannot be ended starts again for that, once its server has ended", async () => {
    await start();
    const id = await replica();
    fakes.machine.answer = ({ sql, data }) => {
      if (data !== fakes.replicaOf(id) || !sql.includes("pg_last_wal_replay_lsn")) return undefined;
      fakes.machine.answer = () => undefined;
      return new Error("not now");
    };
    const moment = now();
    expect(await fakes.outcome(`POST ${branch}/roles/app/reset_password`)).toEqual(["apply_config finished"]);
    expect(eventsFrom(moment)).toEqual([`end ${id}`, `start ${id}`]);
  });

  it("a replica comes back from its primary's growth with the settings that it has by then", async () => {
    await start();
    const id = await replica();
    const settings = { pg_settings: { work_mem: "7MB" } };
    await fakes.change(`PATCH /projects/${project}/endpoints/${id}`, { endpoint: { settings } });
    const endpoint = { autoscaling_limit_min_cu: 2, autoscaling_limit_max_cu: 2 };
    await fakes.change(`PATCH ${compute}`, { endpoint });
    expect([serverOf(id)?.setting("max_connections"), serverOf(id)?.setting("work_mem")]).toEqual(["901", "7MB"]);
  });

  it("a primary that grows stops no server of another branch", async () => {
    await start();
    await fakes.branch({}, [{ type: "read_write" }, { type: "read_only" }]);
    const moment = now();
    const endpoint = { autoscaling_limit_min_cu: 2, autoscaling_limit_max_cu: 2 };
    await fakes.change(`PATCH ${compute}`, { endpoint });
    expect(eventsFrom(moment)).toEqual([`end ${main}`, `start ${main}`]);
  });

  it("roles and databases reach the primary alone", async () => {
    await start();
    const id = await replica();
    const settings = { pg_settings: { work_mem: "7MB" } };
    await fakes.change(`PATCH /projects/${project}/endpoints/${id}`, { endpoint: { settings } });
    expect(serverOf(id)?.setting("work_mem")).toBe("7MB");
    const asked = fakes.machine.statements.filter(({ data }) => data === fakes.replicaOf(id)).map(({ sql }) => sql);
    expect(asked.filter((sql) => !/^SELECT (?:set_config|coalesce\(pg_last_wal)/.test(sql))).toEqual([
      "SELECT pg_reload_conf()",
    ]);
  });
});
