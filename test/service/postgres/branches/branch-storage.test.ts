import { existsSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { positionOf } from "../../../../src/service/domain/history-point.ts";
import { BranchStorage } from "../../../../src/service/postgres/branches/branch-storage.ts";
import { Home } from "../../../../src/service/postgres/data/home.ts";
import { BranchHistory } from "../../../../src/service/postgres/history/branch-history.ts";
import { atEach } from "../at-each.ts";
import type { Answer } from "../fake/fake-machine.ts";
import { ServiceOnFakes } from "../fake/fake-service.ts";
import { CreatedBranch, main, primary, project } from "../rig.ts";

const compute = `/projects/${project}/endpoints/${primary}`;
const branch = `/projects/${project}/branches/${main}`;
const second = 1000;

let fakes: ServiceOnFakes;
beforeEach(async () => {
  fakes = await ServiceOnFakes.start();
});
afterEach(() => fakes[Symbol.asyncDispose]());

const start = () => fakes.change(`POST ${compute}/start`);
const suspend = () => fakes.change(`POST ${compute}/suspend`);
const starts = () => fakes.machine.events.filter((event) => event.startsWith("start")).length;

/** A row in the main branch, then a time, then another row. */
async function twoRows(): Promise<{ time: string; lsn: string }> {
  await start();
  fakes.write("early");
  fakes.clock.advance(second);
  const then = { time: new Date(fakes.clock.now()).toISOString(), lsn: fakes.serverOf().data.lsn };
  fakes.clock.advance(second);
  fakes.write("late");
  return then;
}

describe("a branch of a parent", () => {
  it("a branch takes the rows of a parent that runs, through a copy of the running server", async () => {
    await twoRows();
    const { id } = await fakes.branch({});
    expect(fakes.contentOf(id).rows).toEqual(["early", "late"]);
    const asked = fakes.machine.asked("postgres").join("\n");
    for (const call of ["pg_create_physical_replication_slot", "pg_backup_start", "pg_backup_stop"]) {
      expect(asked).toContain(call);
    }
    expect([existsSync(join(fakes.directoryOf(id), "postmaster.pid")), starts()]).toEqual([false, 1]);
    fakes.write("later");
    expect(fakes.contentOf(id).rows).toEqual(["early", "late"]);
  });

  it("a branch of a parent that a client has written to since the call shows it as it was at the call", async () => {
    await start();
    fakes.write("early");
    const later = fakes.clock.now() + second;
    const newest = vi.spyOn(BranchHistory.prototype, "newestEnd").mockResolvedValue(later);
    onTestFinished(() => newest.mockRestore());
    const { body } = await fakes.send(`POST /projects/${project}/branches`, { branch: {} });
    fakes.clock.advance(second);
    fakes.write("late");
    await fakes.settled();
    const { branch: made } = CreatedBranch.parse(body);
    expect([fakes.contentOf(made.id).rows, fakes.contentOf().rows]).toEqual([["early"], ["early", "late"]]);
    expect(newest.mock.lastCall?.[0]).toBe(fakes.directoryOf());
    expect(await fakes.names("making")).toEqual([]);
  });

  it("a branch inherits the log that its parent's server has completed just before", async () => {
    await start();
    fakes.write("early");
    const segment = fakes.serverOf().data.segmentName;
    fakes.serverOf().data.switchLog();
    const { id } = await fakes.branch({});
    const generation = fakes.directoryOf(id).split("/").at(-1) ?? "";
    expect(await fakes.names(join("history", generation, "wal"))).toContain(segment);
  });

  it("a branch's history has the log with which its parent's running server was copied", async () => {
    await start();
    fakes.write("early");
    const segment = fakes.serverOf().data.segmentName;
    const { id } = await fakes.branch({});
    const generation = fakes.directoryOf(id).split("/").at(-1) ?? "";
    expect(await fakes.names(join("history", generation, "wal"))).toContain(segment);
  });

  it("a branch takes the rows of a parent that was suspended without a start of its server", async () => {
    await twoRows();
    await suspend();
    const { id } = await fakes.branch({});
    expect([fakes.contentOf(id).rows, starts(), fakes.compute().currentState]).toEqual([["early", "late"], 1, "idle"]);
  });

  it("a branch of a parent whose server was killed waits until one has brought its data into order", async () => {
    await twoRows();
    fakes.machine.complaint = "FATAL:  not now\n";
    fakes.serverOf().crash();
    await fakes.until(() => fakes.compute().currentState === "idle");
    const { id } = await fakes.branch({});
    const own = `${main}.`;
    expect(fakes.machine.events.slice(-2).map((event) => event.split(own)[0])).toEqual(["start ", "end "]);
    expect(fakes.contentOf(id).rows).toEqual(["early", "late"]);
  });

  it("a branch has the limits of its parent's data: a standby that has less would not start on the log of that", async () => {
    const size = { autoscaling_limit_min_cu: 4, autoscaling_limit_max_cu: 4 };
    await fakes.change(`PATCH ${compute}`, { endpoint: size });
    await start();
    const limits = (id: string) => {
      const { maxConnections, maxWorkerProcesses, maxLocks } = fakes.store.branchData.get(id) ?? {};
      return [maxConnections, maxWorkerProcesses, maxLocks];
    };
    const { id } = await fakes.branch({});
    expect(limits(id)).toEqual(limits(main));
    expect(limits(id)[0]).toBeGreaterThan(1000);
  });

  it("a branch of a branch whose data is gone fails, and says which", async () => {
    rmSync(fakes.directoryOf(), { recursive: true });
    await fakes.send(`POST /projects/${project}/branches`, { branch: {} });
    await fakes.settled();
    const [failed] = fakes.operations().slice(-1);
    expect(failed).toMatchObject({
      status: "failed",
      error: `the data of branch ${main} is missing: ${fakes.directoryOf()}`,
    });
    expect([await fakes.names("making"), fakes.errors]).toEqual([[], []]);
  });

  it("the catalogue of a copy is the parent's: its roles and databases are not made again", async () => {
    await start();
    const { id } = await fakes.branch({}, [{ type: "read_write" }]);
    const server = fakes.serverOf(id).data;
    const made = fakes.machine.statements.filter(
      ({ data, sql }) => data === server.directory && sql.startsWith("CREATE"),
    );
    expect([made, server.content.databases]).toEqual([[], fakes.contentOf().databases]);
  });
});

describe("a branch from a parent's past", () => {
  it.each([
    ["time", true],
    ["time", false],
    ["lsn", true],
    ["lsn", false],
  ] as const)("a branch from a %s has the rows of then; its parent runs: %s", async (kind, runs) => {
    const { time, lsn } = await twoRows();
    if (!runs) await suspend();
    const point = kind === "time" ? { parent_timestamp: time } : { parent_lsn: lsn };
    const { id } = await fakes.branch(point, [{ type: "read_write" }]);
    const server = fakes.serverOf(id);
    expect([server.data.content.rows, server.setting("recovery_target_action")]).toEqual([["early"], undefined]);
    expect([fakes.contentOf().rows, fakes.compute().currentState]).toEqual([
      ["early", "late"],
      runs ? "active" : "idle",
    ]);
    expect(Object.keys(server.data.content.databases)).toEqual(Object.keys(fakes.contentOf().databases));
  });

  it("a branch of then takes no base from the history of its parent that was made since, and all roles are brought", async () => {
    const { time, lsn } = await twoRows();
    const inheriting = vi.spyOn(BranchHistory.prototype, "inherit");
    onTestFinished(() => inheriting.mockRestore());
    const { id } = await fakes.branch({ parent_timestamp: time });
    const [[, until] = []] = inheriting.mock.calls;
    expect(until?.position).toBeLessThan(positionOf(lsn));
    const roles = (branchId: string) => JSON.parse(fakes.store.branchData.get(branchId)?.catalog ?? "{}").roles.length;
    expect([roles(main), roles(id)]).toEqual([expect.any(Number), 0]);
    expect(roles(main)).toBeGreaterThan(0);
  });

  it("the log that a recovery reads has been taken before, so that the server cannot remove it meanwhile", async () => {
    const { time } = await twoRows();
    const ready: string[][] = [];
    const restoring = vi.spyOn(BranchHistory.prototype, "restoreLog");
    onTestFinished(() => restoring.mockRestore());
    restoring.mockImplementationOnce(function (this: BranchHistory, from, data, to) {
      const statuses = readdirSync(join(data, "pg_wal", "archive_status"));
      ready.push(statuses.filter((name) => name.endsWith(".ready")));
      restoring.mockRestore();
      return this.restoreLog(from, data, to);
    });
    await fakes.branch({ parent_timestamp: time });
    expect(ready).toEqual([[]]);
  });

  it("a branch from the present is a copy: no server recovers", async () => {
    await twoRows();
    const time = new Date(fakes.clock.now()).toISOString();
    const { id } = await fakes.branch({ parent_timestamp: time });
    expect(fakes.contentOf(id).rows).toEqual(["early", "late"]);
  });

  it("a branch has the past of its parent, and of no moment after it left that", async () => {
    const { time } = await twoRows();
    const { id } = await fakes.branch({});
    fakes.write("latest");
    const again = await fakes.branch({ parent_id: id, parent_timestamp: time });
    expect(fakes.contentOf(again.id).rows).toEqual(["early"]);
    const present = await fakes.branch({ parent_id: id });
    expect(fakes.contentOf(present.id).rows).toEqual(["early", "late"]);
  });

  it("a branch from after the end of the log fails, in words that name point and branch", async () => {
    await twoRows();
    await fakes.send(`POST /projects/${project}/branches`, { branch: { parent_lsn: "0/FFFFFF0" } });
    await fakes.settled();
    expect(fakes.operations().at(-1)).toMatchObject({
      status: "failed",
      error: `LSN 0/FFFFFF0 lies after the end of the log of branch ${main}`,
    });
    expect([await fakes.names("making"), (await fakes.names("history")).length]).toEqual([[], 1]);
  });

  it("a server of then is asked for the API's roles alone, as its clients may have made a million", async () => {
    const { time } = await twoRows();
    await fakes.branch({ parent_timestamp: time });
    const [asked = ""] = fakes.machine.asked().filter((sql) => sql.startsWith("SELECT rolname, rolcanlogin"));
    expect(asked).toMatch(
      / FROM pg_roles WHERE \(rolname = 'neon_superuser' OR oid IN \(SELECT member FROM pg_auth_members\s/,
    );
  });

  it("a role that was deleted since comes back to a branch of then, and a database too", async () => {
    await start();
    await fakes.change(`POST ${branch}/roles`, { role: { name: "leaver" } });
    await fakes.change(`POST ${branch}/databases`, { database: { name: "left", owner_name: "leaver" } });
    fakes.clock.advance(second);
    const time = new Date(fakes.clock.now()).toISOString();
    fakes.clock.advance(second);
    await fakes.change(`DELETE ${branch}/databases/left`);
    await fakes.change(`DELETE ${branch}/roles/leaver`);
    const { id } = await fakes.branch({ parent_timestamp: time });
    const [roles, databases] = [fakes.store.catalogs.roles(id), fakes.store.catalogs.databases(id)];
    expect(roles.map(({ name, login }) => [name, login])).toContainEqual(["leaver", true]);
    expect(databases.map(({ name, ownerName }) => [name, ownerName])).toContainEqual(["left", "leaver"]);
    expect(fakes.store.catalogs.roles(main).map(({ name }) => name)).not.toContain("leaver");
  });
});

describe("a server that runs for the service alone", () => {
  const branches = `POST /projects/${project}/branches`;
  it.each([
    ["makes a branch from a time", branches, ({ time }: { time: string }) => ({ branch: { parent_timestamp: time } })],
    ["empties a branch with the schema alone", branches, () => ({ branch: { init_source: "schema-only" } })],
    ["brings data into order", branches, () => ({ branch: {} })],
    ["shows the schema of an idle branch", `GET ${branch}/schema?db_name=stock`, () => undefined],
  ])("the server that %s has ended before that is done, however long its end takes", async (what, line, body) => {
    const then = await twoRows();
    if (what.includes("order")) {
      fakes.machine.complaint = "FATAL:  not now\n";
      fakes.serverOf().crash();
      await fakes.until(() => fakes.compute().currentState === "idle");
    } else await suspend();
    const before = starts();
    fakes.machine.stopMs = 400;
    await fakes.send(line, body(then));
    await fakes.settled();
    expect([...fakes.machine.servers.keys()]).toEqual([]);
    expect([starts() > before, fakes.errors]).toEqual([true, []]);
  });

  it("none starts to show the schema of an idle branch to a client that has left by its turn", async () => {
    const before = starts();
    const left = fakes.postgres.catalog.schema(main, "stock", AbortSignal.abort());
    await expect(left).rejects.toThrow("the client has left");
    expect(starts()).toBe(before);
  });
});

describe("a restore", () => {
  it("a restore from a branch's own past replaces its data, and the server serves the new one", async () => {
    const { time } = await twoRows();
    const before = fakes.directoryOf();
    await fakes.change(`POST ${branch}/restore`, {
      source_branch_id: main,
      source_timestamp: time,
      preserve_under_name: "kept",
    });
    const kept = fakes.store.branches.list(project).find(({ name }) => name === "kept");
    expect([fakes.serverOf().data.content.rows, fakes.contentOf(kept?.id).rows]).toEqual([
      ["early"],
      ["early", "late"],
    ]);
    expect(fakes.directoryOf()).not.toBe(before);
    await expect.poll(() => existsSync(before)).toBe(false);
  });
});

describe("what a branch had before a restore", () => {
  it("keeps its databases under the new name, though the branch has those of its source by then", async () => {
    const { id } = await fakes.branch({}, [{ type: "read_write" }]);
    await fakes.change(`POST /projects/${project}/branches/${id}/restore`, {
      source_branch_id: main,
      preserve_under_name: "kept",
    });
    const kept = fakes.store.branches.list(project).find(({ name }) => name === "kept")?.id ?? "";
    await fakes.endpoint({ branch_id: kept, type: "read_write" });
    expect(Object.keys(fakes.contentOf(kept).databases)).toEqual(expect.arrayContaining(["neondb", "stock"]));
    expect(fakes.machine.statements.filter(({ sql }) => sql.startsWith("DROP DATABASE"))).toEqual([]);
  });
});

describe("the disk", () => {
  it("data that could not be made is removed at once, and its history too: on a full disk nothing else follows", async () => {
    const sweeping = vi.spyOn(BranchStorage.prototype, "removeUnrecorded").mockResolvedValue();
    onTestFinished(() => sweeping.mockRestore());
    for (const code of ["ENOSPC", "EDQUOT"]) {
      const adding = vi.spyOn(BranchHistory.prototype, "addBase");
      adding.mockImplementationOnce(async function (this: BranchHistory, copy) {
        adding.mockRestore();
        await this.addBase(copy);
        throw Object.assign(new Error("no space left"), { code });
      });
      await fakes.send(`POST /projects/${project}/branches`, { branch: { init_source: "schema-only" } });
      await fakes.settled();
      expect(fakes.operations().at(-1)?.error).toContain("the disk became full");
      expect([await fakes.names("making"), (await fakes.names("history")).length]).toEqual([[], 1]);
    }
  });

  it("a full disk is the reason also where it takes not even the note that data is made", async () => {
    const noting = vi.spyOn(Home.prototype, "noteMaking");
    onTestFinished(() => noting.mockRestore());
    noting.mockImplementation(() => {
      throw Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
    });
    await fakes.send(`POST /projects/${project}/branches`, { branch: {} });
    await fakes.settled();
    expect(fakes.operations().at(-1)?.error).toContain("the disk became full: free some");
  });

  it("the disk knows the data of a branch by its name before the store knows of it", async () => {
    const branches = join(`${fakes.data}.postgres`, "branches");
    const seen = await atEach("sync", ({ ino }) => ({
      ino,
      names: readdirSync(branches).length,
      recorded: fakes.store.branchData.names().length,
    }));
    await fakes.branch({});
    const { ino } = statSync(branches);
    expect(seen.filter((file) => file.ino === ino)).toEqual([{ ino, names: 2, recorded: 1 }]);
  });

  it("a new branch becomes a copy of a template that was made once for the version", async () => {
    await fakes.branch({ parent_id: main });
    expect(fakes.machine.events.filter((event) => event.startsWith("initdb"))).toHaveLength(1);
    writeFileSync(join(fakes.directoryOf(), "mine"), "");
    expect(existsSync(join(`${fakes.data}.postgres`, "template-17", "mine"))).toBe(false);
  });
});

describe("a base of a branch's history", () => {
  const history = () => basename(fakes.directoryOf());
  const complaints = () => fakes.lines.filter((line) => line.includes("history"));
  const bases = () => fakes.names(join("history", history(), "bases"));

  /** Has the keeper begin a base for a branch that lacks one; it waits for the server at its end. */
  async function begunBase(): Promise<PromiseWithResolvers<Answer>> {
    await start();
    rmSync(join(`${fakes.data}.postgres`, "history", history(), "bases"), { recursive: true });
    const [begun, held] = [Promise.withResolvers<void>(), Promise.withResolvers<Answer>()];
    fakes.machine.answer = ({ sql }) => {
      if (!sql.includes("pg_backup_stop")) return undefined;
      begun.resolve();
      return held.promise;
    };
    fakes.clock.advance(5 * second);
    await begun.promise;
    return held;
  }

  it("a password is reset while a base of its branch's history is copied, and the base is whole after that", async () => {
    const held = await begunBase();
    const before = fakes.contentOf().roles["app"]?.password;
    expect(await fakes.outcome(`POST ${branch}/roles/app/reset_password`)).toEqual(["apply_config finished"]);
    expect(fakes.contentOf().roles["app"]?.password).not.toBe(before);
    expect(await bases()).toEqual(["making"]);
    held.resolve(undefined);
    await expect.poll(bases).toEqual([expect.stringMatching(/^\d+\.\d+\./)]);
  });

  it("the end of a server waits for no base, which it breaks off: nothing is left of that, and nobody is told", async () => {
    await begunBase();
    await suspend();
    await expect.poll(bases).toEqual([]);
    expect([complaints(), fakes.compute().currentState]).toEqual([[], "idle"]);
  });

  it("why a base of a server that runs cannot be made is said", async () => {
    const held = await begunBase();
    held.resolve(new Error("no place for it"));
    await expect.poll(complaints).toEqual([`the history of branch ${main} cannot be kept: no place for it`]);
  });

  it("data whose base is copied stays while its branch is restored, and goes with its history at the base's end", async () => {
    const { id } = await fakes.branch({}, [{ type: "read_write" }]);
    const before = basename(fakes.directoryOf(id));
    rmSync(join(`${fakes.data}.postgres`, "history", before, "bases"), { recursive: true });
    const held = Promise.withResolvers<never>();
    const adding = vi.spyOn(BranchHistory.prototype, "addBase").mockReturnValueOnce(held.promise);
    onTestFinished(() => adding.mockRestore());
    fakes.clock.advance(5 * second);
    await expect.poll(() => adding.mock.calls.length).toBe(1);
    await fakes.change(`POST /projects/${project}/branches/${id}/restore`, { source_branch_id: main });
    // They rest for nine times as long as the last took, by a clock that was advanced.
    const removals = async () => {
      fakes.clock.advance(10 * second);
      await fakes.clock.looks();
    };
    const left = async () =>
      [await fakes.names("branches"), await fakes.names("history")].map((all) => all.includes(before));
    await removals();
    expect([basename(fakes.directoryOf(id)) === before, await left()]).toEqual([false, [true, true]]);
    held.reject(new Error("its server has ended"));
    await removals();
    await expect.poll(left).toEqual([false, false]);
  });
});
