import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { BranchCopies } from "../../../src/service/postgres/branches/branch-copies.ts";
import { BranchStorage } from "../../../src/service/postgres/branches/branch-storage.ts";
import { Fleet } from "../../../src/service/postgres/fleet/fleet.ts";
import { Seed } from "../../../src/service/seed/document.ts";
import { applySeed } from "../../../src/service/seed/seed.ts";
import { FakeData } from "./fake/fake-data.ts";
import { ServiceOnFakes } from "./fake/fake-service.ts";
import { main, primary, project, seed } from "./rig.ts";

const compute = `/projects/${project}/endpoints/${primary}`;

let fakes: ServiceOnFakes;
beforeEach(async () => {
  fakes = await ServiceOnFakes.start();
});
afterEach(() => fakes[Symbol.asyncDispose]());

const start = () => fakes.outcome(`POST ${compute}/start`);

describe("data that a branch lacks", () => {
  it("an error that nobody foresaw is reported, and the next start of a compute makes the data", async () => {
    await fakes[Symbol.asyncDispose]();
    fakes = new ServiceOnFakes();
    await fakes.open(seed);
    const unforeseen = new TypeError("a mistake");
    vi.spyOn(fakes.store.branches, "exists").mockImplementationOnce(() => {
      throw unforeseen;
    });
    await fakes.postgres.begin(fakes.core);
    await fakes.until(() => fakes.errors.length > 0);
    const trying = vi.spyOn(BranchCopies.prototype, "ensure");
    onTestFinished(() => trying.mockRestore());
    fakes.core.change(() => {});
    expect(trying).not.toHaveBeenCalled();
    expect([fakes.errors, fakes.store.branchData.missing()]).toEqual([[unforeseen], [main]]);
    expect([await start(), fakes.machine.servers.size]).toEqual([["start_compute finished"], 1]);
  });

  it("copies that are left wanted are made by the next service, and no further one is begun once that ends", async () => {
    await fakes[Symbol.asyncDispose]();
    fakes = await ServiceOnFakes.start(seed, { keepsStore: true });
    const [one, other] = [await fakes.branch({}), await fakes.branch({})];
    await fakes.stop();
    await fakes.open();
    fakes.core.change(({ store: { branchData } }) => {
      branchData.setSource({ branchId: one.id, sourceId: main });
      branchData.setSource({ branchId: other.id, sourceId: one.id });
    });
    const [make, held] = [vi.spyOn(BranchStorage.prototype, "make"), Promise.withResolvers<void>()];
    onTestFinished(() => make.mockRestore());
    make.mockImplementationOnce(async function late(this: BranchStorage, ...wanted) {
      await held.promise;
      return this.make(...wanted);
    });
    const made = () => [...new Set(make.mock.calls.map(([{ id }]) => id))];
    await fakes.begin();
    await fakes.until(() => made().length > 0);
    const stopped = fakes.stop();
    held.resolve();
    await stopped;
    expect(made()).toEqual([one.id]);
    await fakes.start();
    await fakes.until(() => fakes.store.branchData.sources().length === 0);
    expect(made()).toEqual([one.id, other.id]);
  });
});

describe("a branch that is restored before its first data is made", () => {
  const [shop] = seed.projects;
  const two = { ...seed, projects: [{ ...shop, branches: [...(shop?.branches ?? []), { id: "br-other" }] }] };

  it.each([
    ["another branch", { source_branch_id: "br-other" }, "finished"],
    ["its own past", { source_branch_id: main, source_lsn: "0/FFFFFF0" }, "failed"],
  ])(
    "a branch has data in the end where it is restored from %s, as has the one that keeps what it was",
    async (_, of, end) => {
      await fakes[Symbol.asyncDispose]();
      fakes = new ServiceOnFakes();
      await fakes.open(two);
      await fakes.send(`POST /projects/${project}/branches/${main}/restore`, { ...of, preserve_under_name: "kept" });
      await fakes.begin();
      expect(fakes.operations().map(({ status }) => status)).toEqual(["finished", end]);
      expect([await start(), fakes.store.branchData.sources(), fakes.errors]).toEqual([
        ["start_compute finished"],
        [],
        [],
      ]);
      expect(fakes.store.branchData.names()).toHaveLength(3);
    },
  );
});

describe("a return to the seed, whose ids come again", () => {
  const reset = (document: object) =>
    fakes.core.change((context, at) => {
      context.store.clear();
      applySeed(context, Seed.parse(document), at);
    });

  it("an operation begins at once and does its own work, though one of before is still under way", async () => {
    const [starting, held] = [vi.spyOn(Fleet.prototype, "start"), Promise.withResolvers<void>()];
    onTestFinished(() => starting.mockRestore());
    starting.mockImplementationOnce(() => held.promise);
    await fakes.send(`POST ${compute}/start`);
    await fakes.until(() => starting.mock.calls.length === 1);
    reset(seed);
    expect([await start(), fakes.machine.servers.size]).toEqual([["start_compute finished"], 1]);
    held.resolve();
    expect(await fakes.outcome(`POST ${compute}/suspend`)).toEqual(["suspend_compute finished"]);
  });

  it("a branch gets its data also where that of a branch with its id, which is gone, could not be made", async () => {
    const ensure = vi.spyOn(BranchCopies.prototype, "ensure").mockRejectedValueOnce(new TypeError("a mistake"));
    onTestFinished(() => ensure.mockRestore());
    reset(seed);
    await fakes.until(() => fakes.errors.length > 0);
    fakes.core.change(({ store }) => store.clear());
    reset(seed);
    await fakes.until(() => fakes.store.branchData.missing().length === 0);
    expect(fakes.store.branchData.get(main)?.branchId).toBe(main);
  });

  it("a branch gets a copy of its own, and not the one of before that was under way", async () => {
    await fakes[Symbol.asyncDispose]();
    fakes = new ServiceOnFakes();
    const [shop] = seed.projects;
    const side = { id: "br-side", name: "side", default: false, roles: [], databases: [] };
    const document = { ...seed, projects: [{ ...shop, branches: [...(shop?.branches ?? []), side] }] };
    const [copy, copied] = [vi.spyOn(BranchStorage.prototype, "copy"), Promise.withResolvers<void>()];
    onTestFinished(() => copy.mockRestore());
    const held = Promise.withResolvers<void>();
    copy.mockImplementationOnce(async function marked(this: BranchStorage, from, ...wanted) {
      new FakeData(from).change(0, ({ rows }) => void rows.push("earlier"));
      const log = await this.copy(from, ...wanted);
      copied.resolve();
      await held.promise;
      return log;
    });
    await fakes.open(document);
    await fakes.postgres.begin(fakes.core);
    await copied.promise;
    reset(document);
    held.resolve();
    await fakes.until(() => fakes.store.branchData.sources().length === 0);
    expect(fakes.contentOf(side.id).rows).toEqual([]);
  });
});

describe("the removal of what nothing needs", () => {
  it("a server that does not end keeps no other one from its end", async () => {
    const side = await fakes.branch({}, [{ type: "read_write" }]);
    await start();
    const [stop, held] = [vi.spyOn(Fleet.prototype, "stop"), Promise.withResolvers<void>()];
    onTestFinished(() => stop.mockRestore());
    stop.mockReturnValueOnce(held.promise);
    await fakes.change(`DELETE /projects/${project}/branches/${side.id}`);
    await fakes.until(() => stop.mock.calls.length > 0);
    await fakes.change(`DELETE ${compute}`);
    await fakes.until(() => fakes.machine.servers.size === 1);
    expect(stop).toHaveBeenCalledTimes(2);
    held.resolve();
    await fakes.until(() => fakes.machine.servers.size === 0);
  });

  const remove = () => vi.spyOn(BranchStorage.prototype, "removeUnrecorded");

  it("an error of the removal is reported, and the next change has it tried again", async () => {
    const [spy, failure] = [remove(), new Error("a directory is held")];
    onTestFinished(() => spy.mockRestore());
    spy.mockRejectedValueOnce(failure);
    await start();
    await fakes.until(() => fakes.errors.length > 0);
    const before = spy.mock.calls.length;
    await fakes.change(`POST ${compute}/suspend`);
    await fakes.until(() => spy.mock.calls.length > before);
    expect(fakes.errors).toEqual([failure]);
  });

  it("a change while one removal is under way has another follow it, and none run beside it", async () => {
    const [spy, held] = [remove(), Promise.withResolvers<void>()];
    onTestFinished(() => spy.mockRestore());
    spy.mockReturnValue(held.promise);
    await start();
    await fakes.change(`POST ${compute}/suspend`);
    await fakes.until(() => spy.mock.calls.length === 1);
    await fakes.clock.looks();
    expect(spy).toHaveBeenCalledTimes(1);
    held.resolve();
    await fakes.until(() => spy.mock.calls.length === 2);
  });

  /** A change after a removal that took a second. */
  async function resting() {
    const spy = remove();
    onTestFinished(() => spy.mockRestore());
    spy.mockImplementationOnce(() => Promise.resolve(fakes.clock.advance(1000))).mockResolvedValue();
    await start();
    await fakes.until(() => spy.mock.calls.length === 1);
    await fakes.change(`POST ${compute}/suspend`);
    return spy;
  }

  it("the removal rests for nine times as long as it took, as each looks through the data of all branches", async () => {
    const spy = await resting();
    await fakes.clock.looks();
    expect(spy).toHaveBeenCalledTimes(1);
    fakes.clock.advance(9000);
    await fakes.until(() => spy.mock.calls.length > 1);
  });

  it("a removal that rests keeps the service from no end", async () => {
    const spy = await resting();
    await fakes.stop();
    expect(spy).toHaveBeenCalledTimes(1);
  });

  it("the removal of data, which may be a million files, keeps no server from its end", async () => {
    const side = await fakes.branch({}, [{ type: "read_write" }]);
    await start();
    const [spy, held] = [remove(), Promise.withResolvers<void>()];
    onTestFinished(() => spy.mockRestore());
    spy.mockReturnValue(held.promise);
    await fakes.change(`POST ${compute}/suspend`);
    await fakes.until(() => spy.mock.calls.length > 0 && fakes.machine.servers.size === 1);
    await fakes.change(`DELETE /projects/${project}/branches/${side.id}`);
    await fakes.until(() => fakes.machine.servers.size === 0);
    expect(spy).toHaveBeenCalledTimes(1);
    held.resolve();
  });

  it("an error of the removal is not reported once the service ends", async () => {
    const [spy, held] = [remove(), Promise.withResolvers<void>()];
    onTestFinished(() => spy.mockRestore());
    spy.mockReturnValue(held.promise);
    await start();
    await fakes.until(() => spy.mock.calls.length > 0);
    const stopped = fakes.stop();
    held.reject(new Error("the directory is gone"));
    await stopped;
    expect(fakes.errors).toEqual([]);
  });
});
