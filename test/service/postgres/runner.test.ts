import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { StoreFull } from "../../../src/service/refusal.ts";
import { rules } from "../../../src/service/rules.ts";
import { type FakesOptions, ServiceOnFakes } from "./fake/fake-service.ts";
import { main, primary, project, seed } from "./rig.ts";

const compute = `/projects/${project}/endpoints/${primary}`;
const branch = `/projects/${project}/branches/${main}`;
const minute = 60_000;

let fakes: ServiceOnFakes;
beforeEach(async () => {
  fakes = await ServiceOnFakes.start();
});
afterEach(() => fakes[Symbol.asyncDispose]());

const start = () => fakes.outcome(`POST ${compute}/start`);

/** The state of the compute, and whether its server runs. */
function state(): [string, boolean] {
  return [fakes.compute().currentState, fakes.machine.servers.size === 1];
}

it("a suspension that is made to fail fails with the reason, and its compute is idle, as its server has ended", async () => {
  await start();
  await fakes.send(`POST ${compute}/suspend`);
  const { operations } = fakes.store;
  fakes.core.change(() => fakes.operations().forEach(({ id }) => operations.forceFailure(id, "made to fail")));
  await fakes.settled();
  expect(fakes.operations().at(-1)).toMatchObject({ status: "failed", error: "made to fail" });
  expect(state()).toEqual(["idle", false]);
});

describe("a server that ended on its own", () => {
  /** Ends the server, and waits for what the service makes of it. */
  async function crash(): Promise<void> {
    const before = fakes.operations().length;
    fakes.serverOf().crash();
    await fakes.until(() => fakes.operations().length > before);
    await fakes.settled();
  }
  const last = () => fakes.operations().at(-1);

  it("the server is started again, as an operation, until it has ended four times within a minute", async () => {
    await start();
    for (let times = 1; times <= 3; times += 1) {
      await crash();
      expect([last()?.action, last()?.status, state()]).toEqual(["start_compute", "finished", ["active", true]]);
    }
    await crash();
    expect(last()).toMatchObject({
      action: "start_compute",
      status: "failed",
      error: "the server ended on its own 4 times within a minute: see its log",
    });
    expect(state()).toEqual(["idle", false]);
    expect(fakes.compute()).toMatchObject({ pendingState: undefined, suspendDue: undefined, meteredAt: undefined });
    expect(fakes.compute().suspendedAt).toBeGreaterThan(0);
    expect(await start()).toEqual(["start_compute finished"]);
  });

  it("the server is started again where its earlier ends are a minute old", async () => {
    await start();
    for (let times = 1; times <= 3; times += 1) await crash();
    fakes.clock.advance(minute);
    await crash();
    expect([last()?.status, state()]).toEqual(["finished", ["active", true]]);
  });

  it("an end that can be noted at the fourth try only, as the disk was full, counts once", async () => {
    await start();
    const notes = vi.spyOn(fakes.store.operations, "insert");
    for (let times = 1; times <= 3; times += 1) {
      notes.mockImplementationOnce(() => {
        throw new StoreFull();
      });
    }
    fakes.serverOf().crash();
    for (let times = 1; times <= 3; times += 1) {
      await expect.poll(() => notes.mock.calls.length).toBe(times);
      fakes.clock.advance(1000);
    }
    await expect.poll(() => notes.mock.calls.length).toBe(4);
    await fakes.settled();
    notes.mockRestore();
    expect([last()?.status, state()]).toEqual(["finished", ["active", true]]);
  });

  it("an operation under way says why its server ended, and no other one starts the server", async () => {
    await start();
    fakes.machine.answer = ({ sql }) => {
      if (!sql.startsWith("CREATE ROLE")) return undefined;
      fakes.serverOf().crash();
      return new Error("the server is gone");
    };
    const outcome = await fakes.outcome(`POST ${branch}/roles`, { role: { name: "reader" } });
    expect([outcome, state()]).toEqual([["apply_config failed"], ["idle", false]]);
  });

  it("an end is not counted where the server was stopped for an operation", async () => {
    await start();
    for (let times = 1; times <= 5; times += 1) await fakes.outcome(`POST ${compute}/restart`);
    expect([last()?.status, state()]).toEqual(["finished", ["active", true]]);
  });
});

describe("an operation that fails", () => {
  it("the operation says what the server has said, and leaves the compute idle and no server", async () => {
    fakes.machine.complaint = "2026-01-01 00:00:00 UTC [1] FATAL:  no room left\n";
    const [operation] = await fakes.change(`POST ${compute}/start`);
    expect(operation).toMatchObject({ status: "failed", error: "the server did not start: no room left" });
    expect([state(), fakes.errors]).toEqual([["idle", false], []]);
  });

  it("the operation leaves a compute active whose server runs on", async () => {
    await start();
    fakes.machine.answer = ({ sql }) => (sql.startsWith("CREATE ROLE") ? new Error("not now") : undefined);
    const [operation] = await fakes.change(`POST ${branch}/roles`, { role: { name: "reader" } });
    expect([operation?.status, operation?.error, state()]).toEqual(["failed", "not now", ["active", true]]);
  });

  it("an operation whose end cannot be noted fails, and is reported", async () => {
    const mistake = new TypeError("a mistake");
    vi.spyOn(fakes.store.operations, "nextInChain").mockImplementationOnce(() => {
      throw mistake;
    });
    const [operation] = await fakes.change(`POST ${compute}/start`);
    expect([operation?.status, operation?.error, fakes.errors]).toEqual(["failed", "internal error", [mistake]]);
    expect(await start()).toEqual(["start_compute finished"]);
  });

  it("the end of a server that cannot be noted is reported, and ends nothing else", async () => {
    await start();
    const mistake = new TypeError("a mistake");
    vi.spyOn(fakes.store.operations, "insert").mockImplementationOnce(() => {
      throw mistake;
    });
    fakes.serverOf().crash();
    await fakes.until(() => fakes.errors.length > 0);
    expect(fakes.errors).toEqual([mistake]);
  });

  it("the error is reported where nobody foresaw why", async () => {
    const [unforeseen, { catalogs }] = [new TypeError("a mistake"), fakes.store];
    const spy = vi.spyOn(catalogs, "databases").mockImplementation(() => {
      throw unforeseen;
    });
    const [operation] = await fakes.change(`POST ${compute}/start`);
    spy.mockRestore();
    expect([operation?.error, fakes.errors]).toEqual(["a mistake", [unforeseen]]);
  });
});

describe("a change of the API", () => {
  it("a change reaches a server that runs, without an end to it", async () => {
    await start();
    const server = fakes.serverOf();
    const settings = { pg_settings: { work_mem: "7MB" } };
    expect(await fakes.outcome(`PATCH ${compute}`, { endpoint: { settings } })).toEqual(["apply_config finished"]);
    expect([fakes.serverOf() === server, server.setting("work_mem")]).toEqual([true, "7MB"]);
    await fakes.change(`POST ${branch}/roles`, { role: { name: "reader" } });
    await fakes.change(`POST ${branch}/databases`, { database: { name: "notes", owner_name: "reader" } });
    expect(server.data.content.databases).toMatchObject({ notes: "reader" });
    await fakes.change(`PATCH ${branch}/databases/notes`, { database: { name: "memos" } });
    expect(Object.keys(server.data.content.databases)).not.toContain("notes");
    await fakes.change(`DELETE ${branch}/databases/memos`);
    await fakes.change(`DELETE ${branch}/roles/reader`);
    const { roles, databases } = server.data.content;
    expect([Object.keys(roles), Object.keys(databases)]).toEqual([
      ["cloud_admin", "neon_superuser", "neondb_owner", "app"],
      ["postgres", "template1", "template0", "neondb", "stock"],
    ]);
    expect(fakes.serverOf()).toBe(server);
  });

  it("a change has the server of an idle primary come up for it, and go again, and that of no disabled one", async () => {
    await fakes.change(`PATCH ${compute}`, { endpoint: { disabled: true } });
    await fakes.change(`POST ${branch}/roles`, { role: { name: "early" } });
    await fakes.change(`PATCH ${compute}`, { endpoint: { autoscaling_limit_max_cu: 2 } });
    expect(fakes.machine.events.filter((event) => event.startsWith("start"))).toEqual([]);
    await fakes.change(`PATCH ${compute}`, { endpoint: { disabled: false } });
    const role = { role: { name: "reader" } };
    expect(await fakes.outcome(`POST ${branch}/roles`, role)).toEqual([
      "apply_config finished",
      "suspend_compute finished",
    ]);
    expect([Object.keys(fakes.contentOf().roles).slice(-2), state()]).toEqual([
      ["early", "reader"],
      ["idle", false],
    ]);
  });

  it("no server comes up for a replica that is idle", async () => {
    const replica = { branch_id: main, type: "read_only" };
    const made = await fakes.send(`POST /projects/${project}/endpoints`, { endpoint: replica });
    await fakes.settled();
    const { id } = JSON.parse(JSON.stringify(made.body["endpoint"]));
    const path = `/projects/${project}/endpoints/${id}`;
    await fakes.change(`POST ${path}/suspend`);
    const before = fakes.machine.events.length;
    await fakes.change(`PATCH ${path}`, { endpoint: { settings: { pg_settings: { work_mem: "7MB" } } } });
    expect(fakes.machine.events.slice(before).filter((event) => event.startsWith("start"))).toEqual([]);
  });
});

describe("what nothing needs any more", () => {
  it("all of a branch ends and is removed with it: its server, its data and its history", async () => {
    const made = await fakes.send(`POST /projects/${project}/branches`, { endpoints: [{ type: "read_write" }] });
    await fakes.settled();
    expect([fakes.machine.servers.size, (await fakes.names("branches")).length]).toEqual([1, 2]);
    const { id } = JSON.parse(JSON.stringify(made.body["branch"]));
    await fakes.change(`DELETE /projects/${project}/branches/${id}`);
    await fakes.until(() => fakes.machine.servers.size === 0);
    const left = (await fakes.names("branches")).map((name) => name.split(".")[0]);
    await expect.poll(() => fakes.names("branches")).toHaveLength(1);
    await expect.poll(() => fakes.names("history")).toHaveLength(1);
    expect([left.includes(main), await fakes.names("making")]).toEqual([true, []]);
  });

  it("all of a compute ends with it: its server and the data of a replica, and the branch stays", async () => {
    await start();
    const replica = { branch_id: main, type: "read_only" };
    const made = await fakes.send(`POST /projects/${project}/endpoints`, { endpoint: replica });
    await fakes.settled();
    expect([fakes.machine.servers.size, (await fakes.names("replicas")).length]).toEqual([2, 1]);
    const { id } = JSON.parse(JSON.stringify(made.body["endpoint"]));
    await fakes.change(`DELETE /projects/${project}/endpoints/${id}`);
    await expect.poll(() => fakes.names("replicas")).toEqual([]);
    expect([state(), (await fakes.names("branches")).length]).toEqual([["active", true], 1]);
    await fakes.change(`DELETE ${compute}`);
    await fakes.until(() => fakes.machine.servers.size === 0);
    expect((await fakes.names("branches")).length).toBe(1);
  });
});

describe("a service that begins on an earlier one's data", () => {
  const beginAgain = async (prepare: () => unknown, options: FakesOptions = {}) => {
    await fakes[Symbol.asyncDispose]();
    fakes = await ServiceOnFakes.start(seed, { keepsStore: true, ...options });
    await prepare();
    await fakes.stop();
    await fakes.start();
  };

  it("the service takes what was active for idle, without an operation, until somebody connects", async () => {
    await beginAgain(start);
    expect([state(), fakes.operations().length]).toEqual([["idle", false], 1]);
    expect(fakes.compute()).toMatchObject({ suspendDue: undefined, meteredAt: undefined });
  });

  it("the service shows the usage that the earlier one has shown, which is recorded at its end", async () => {
    const Used = z.looseObject({ project: z.looseObject({ compute_time_seconds: z.number() }) });
    const used = async () =>
      Used.parse((await fakes.send(`GET /projects/${project}`)).body).project.compute_time_seconds;
    let before = 0;
    await beginAgain(async () => {
      await start();
      fakes.clock.advance(4 * minute);
      before = await used();
    });
    expect([before >= 240, (await used()) >= before]).toEqual([true, true]);
  });

  it("the service shows and records no time in which none ran, whatever calls come while it begins", async () => {
    await beginAgain(start);
    await start();
    await fakes.stop();
    fakes.clock.advance(60 * minute);
    await fakes.open();
    const begun = fakes.begin();
    const { body } = await fakes.send(`GET /projects/${project}`);
    await fakes.send(`DELETE ${compute}`);
    await begun;
    expect(body).toMatchObject({ project: { active_time_seconds: 0 } });
    expect(fakes.store.projects.get(project)?.activeMs).toBeLessThan(minute);
  });

  it("usage is recorded every ten minutes, for the case that the process is killed", async () => {
    await fakes.change(`PATCH ${compute}`, { endpoint: { suspend_timeout_seconds: -1 } });
    await start();
    const recorded = () => Math.floor((fakes.store.projects.get(project)?.activeMs ?? 0) / minute);
    for (const minutes of [10, 20]) {
      fakes.clock.advance(10 * minute);
      expect(recorded()).toBe(minutes);
    }
  });

  it("the service wakes what never sleeps", async () => {
    await beginAgain(async () => {
      await fakes.change(`PATCH ${compute}`, { endpoint: { suspend_timeout_seconds: -1 } });
      await start();
    });
    expect([state(), fakes.operations().length]).toEqual([["active", true], 2]);
  });

  it("the service wakes what its rules let never sleep, whatever it was told to", async () => {
    const large = { autoscaling_limit_min_cu: 18, autoscaling_limit_max_cu: 18 };
    await beginAgain(
      async () => {
        await fakes.change(`PATCH ${compute}`, { endpoint: large });
        await start();
      },
      { rules: rules.neon },
    );
    expect(state()).toEqual(["active", true]);
  });

  it("the service wakes nothing that is disabled, and nothing that an operation is about to start", async () => {
    await beginAgain(async () => {
      await fakes.change(`PATCH ${compute}`, { endpoint: { suspend_timeout_seconds: -1 } });
      await start();
      fakes.core.change(({ store }) => store.endpoints.update(Object.assign(fakes.compute(), { disabled: true })));
    });
    expect([state(), fakes.operations().length]).toEqual([["idle", false], 1]);
    await beginAgain(async () => {
      await fakes.change(`PATCH ${compute}`, { endpoint: { suspend_timeout_seconds: -1 } });
      await start();
      await fakes.send(`POST ${compute}/restart`);
    });
    expect(fakes.operations().map(({ action }) => action)).toEqual([
      "start_compute",
      "suspend_compute",
      "start_compute",
    ]);
  });

  it("the service carries out what was under way", async () => {
    await beginAgain(() => fakes.send(`POST ${compute}/start`));
    expect([state(), fakes.operations().map(({ status }) => status)]).toEqual([["active", true], ["finished"]]);
  });
});

it("a look at what nothing needs that fails is reported, and the next change brings another", async () => {
  const spy = vi.spyOn(fakes.store.branchData, "names").mockImplementationOnce(() => {
    throw new TypeError("a mistake");
  });
  fakes.core.change(() => {});
  await fakes.until(() => fakes.errors.length === 1);
  expect(String(fakes.errors[0])).toContain("a mistake");
  const made = await fakes.branch({});
  await fakes.change(`DELETE /projects/${project}/branches/${made.id}`);
  await expect.poll(() => fakes.names("branches")).toHaveLength(1);
  spy.mockRestore();
  expect(fakes.errors).toHaveLength(1);
});

it("a service that ends stops every server in order, and begins nothing more", async () => {
  await start();
  await fakes.send(`POST ${compute}/restart`);
  await fakes.stop();
  expect([fakes.machine.servers.size, fakes.machine.events.at(-1)?.split(" ")[0]]).toEqual([0, "end"]);
  expect(fakes.errors).toEqual([]);
});
