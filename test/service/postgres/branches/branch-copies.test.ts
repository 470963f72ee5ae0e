import { beforeEach, describe, expect, it, vi } from "vitest";
import { BranchCopies } from "../../../../src/service/postgres/branches/branch-copies.ts";
import type { MadeData } from "../../../../src/service/postgres/branches/branch-storage.ts";
import { ServerFailed } from "../../../../src/service/postgres/host/failure.ts";
import type { CopyWanted } from "../../../../src/service/store/branch-data.ts";
import type { Branch } from "../../../../src/service/store/branches.ts";
import type { Store } from "../../../../src/service/store/store.ts";
import { TestService } from "../../support/service.ts";

/** The data of branches as texts: a copy has the text of its source at its time. */
class Disk {
  readonly made: string[] = [];
  readonly handed: string[] = [];
  readonly failing = new Map<string, string>();
  /** Copies wait here until a test lets them end. */
  readonly held = new Map<string, PromiseWithResolvers<void>>();
  /** The roles and databases that a copy of the past brings back. */
  earlier: MadeData["earlier"];
  readonly #store: Store;
  readonly #texts = new Map<string, string>();

  constructor(store: Store) {
    this.#store = store;
  }

  async make(
    branch: Branch,
    _: number,
    wantedCopy: CopyWanted | undefined,
    record: (made: MadeData) => void,
  ): Promise<void> {
    const source = wantedCopy?.sourceId;
    const generation = String(this.made.length);
    this.made.push(source === undefined ? branch.id : `${branch.id} of ${source}`);
    await this.held.get(branch.id)?.promise;
    const failure = this.failing.get(branch.id);
    if (failure !== undefined) throw new ServerFailed(failure);
    this.#texts.set(`${branch.id}.${generation}`, source === undefined ? `new ${branch.id}` : this.textOf(source));
    this.handed.push(branch.id);
    record({
      branchId: branch.id,
      generation,
      catalog: "{}",
      maxConnections: 1,
      maxWorkerProcesses: 1,
      maxLocks: 64,
      earlier: this.earlier,
    });
  }

  textOf(branchId: string): string {
    const generation = this.#store.branchData.get(branchId)?.generation ?? "none";
    return this.#texts.get(`${branchId}.${generation}`) ?? "none";
  }
}

let store: Store;
let disk: Disk;
let copies: BranchCopies;
let ends: AbortController;
beforeEach(async () => {
  const project = (id: string, owner: string, ids: readonly string[]) => ({
    id,
    owner,
    branches: ids.map((branchId, index) => ({ id: branchId, name: branchId, default: index === 0 })),
  });
  const service = new TestService().applySeed({
    accounts: ["ana", "bob"].map((name) => ({ id: `acc-${name}`, email: `${name}@example.com`, plan: "scale" })),
    projects: [
      project("p", "acc-ana", ["br-a", "br-b", "br-c", "br-d"]),
      project("many", "acc-bob", ["br-1", "br-2", "br-3", "br-4", "br-5", "br-6", "br-7"]),
      project("few", "acc-bob", ["br-few"]),
    ],
  });
  ({ store } = service.core.context);
  disk = new Disk(store);
  ends = new AbortController();
  copies = new BranchCopies({
    store,
    clock: { now: () => 0 },
    storage: disk,
    ends: ends.signal,
    change: (act) => store.transaction(act),
  });
  for (const id of ["br-a", "br-b"]) await copies.ensure(id);
  disk.made.length = 0;
});

function want(branchId: string, sourceId: string, point?: object): void {
  const at = point && { point: JSON.stringify(point) };
  store.transaction(() => store.branchData.setSource({ branchId, sourceId, ...at }));
}

function wanted(): string[] {
  return store.branchData.sources().map(({ branchId, sourceId }) => `${branchId} of ${sourceId}`);
}

describe("the copy of a branch that fails", () => {
  it("stays wanted and is tried again, and the branch never becomes an empty one", async () => {
    want("br-c", "br-a");
    disk.failing.set("br-c", "the disk is full");
    await expect(copies.ensure("br-c")).rejects.toThrow("the disk is full");
    expect([disk.textOf("br-c"), wanted()]).toEqual(["none", ["br-c of br-a"]]);
    await expect(copies.ensure("br-c")).rejects.toThrow("the disk is full");
    disk.failing.clear();
    await copies.ensure("br-c");
    expect([disk.textOf("br-c"), wanted()]).toEqual(["new br-a", []]);
  });

  it("takes nothing from its parent, whose own restore is still to be made", async () => {
    want("br-a", "br-b");
    want("br-c", "br-a");
    disk.failing.set("br-a", "the disk is full");
    await expect(copies.ensure("br-c")).rejects.toThrow("it waits for the data of branch br-a: the disk is full");
    disk.failing.clear();
    disk.failing.set("br-c", "the disk is full");
    await expect(copies.ensure("br-c")).rejects.toThrow("the disk is full");
    want("br-a", "br-b");
    await expect(copies.ensure("br-c")).rejects.toThrow("the disk is full");
    expect(wanted()).toEqual(["br-c of br-a", "br-a of br-b"]);
  });

  it("fails for ever once its source is deleted, in words that say what to do", async () => {
    want("br-c", "br-b");
    store.branches.delete("br-b");
    await expect(copies.ensure("br-c")).rejects.toThrow(/^branch br-b, .* was deleted: restore another branch's$/);
    expect([disk.made, wanted()]).toEqual([[], ["br-c of br-b"]]);
    want("br-c", "br-a");
    await copies.ensure("br-c");
    expect(disk.textOf("br-c")).toBe("new br-a");
  });
});

describe("a copy", () => {
  it("waits for the copy that its source is to be", async () => {
    want("br-a", "br-b");
    want("br-c", "br-a");
    await copies.ensure("br-c");
    expect([disk.made, disk.textOf("br-c")]).toEqual([["br-a of br-b", "br-c of br-a"], "new br-b"]);
  });

  it("waits for the data of its source, where that has none yet", async () => {
    want("br-d", "br-c");
    await copies.ensure("br-d");
    expect([disk.made, disk.textOf("br-d")]).toEqual([["br-c", "br-d of br-c"], "new br-c"]);
  });

  it("waits for those that keep what it replaces, and replaces nothing where they fail", async () => {
    want("br-c", "br-a");
    want("br-a", "br-b");
    disk.failing.set("br-c", "the disk is full");
    await expect(copies.ensure("br-a")).rejects.toThrow("it waits for the data of branch br-c: the disk is full");
    expect([disk.textOf("br-a"), wanted()]).toEqual(["new br-a", ["br-c of br-a", "br-a of br-b"]]);
    disk.failing.clear();
    await copies.ensure("br-a");
    expect([disk.textOf("br-c"), disk.textOf("br-a")]).toEqual(["new br-a", "new br-b"]);
  });

  it("looks at none of the thousands that others want", async () => {
    want("br-c", "br-a");
    const looks = vi.spyOn(store.branchData, "sources");
    await copies.ensure("br-c");
    expect([looks.mock.calls, disk.textOf("br-c")]).toEqual([[], "new br-a"]);
  });

  it("waits for no other, and needs no turn where there is data", async () => {
    want("br-c", "br-a");
    const end = Promise.withResolvers<void>();
    disk.held.set("br-c", end);
    const copying = copies.ensure("br-c");
    want("br-d", "br-b");
    await Promise.all([copies.ensure("br-d"), copies.ensure("br-b"), copies.ensure("br-a")]);
    expect([disk.textOf("br-d"), disk.textOf("br-c")]).toEqual(["new br-b", "none"]);
    end.resolve();
    await copying;
    expect(disk.textOf("br-c")).toBe("new br-a");
  });

  it("waits for no later one, so that two branches can get each other's data, the second what the first has by then", async () => {
    want("br-a", "br-b");
    want("br-b", "br-a");
    await Promise.all([copies.ensure("br-b"), copies.ensure("br-a")]);
    expect([disk.made, wanted()]).toEqual([["br-a of br-b", "br-b of br-a"], []]);
  });

  it("does not wait for itself, where a branch is to be what it was", async () => {
    want("br-a", "br-a", { lsn: 1 });
    await copies.ensure("br-a");
    expect([disk.made, wanted()]).toEqual([["br-a of br-a"], []]);
  });

  it("a copy is made once for all that wait for it, and given up where another one is wanted meanwhile", async () => {
    want("br-c", "br-a");
    const end = Promise.withResolvers<void>();
    disk.held.set("br-c", end);
    const waiting = [copies.ensure("br-c"), copies.ensure("br-c")];
    want("br-c", "br-b");
    end.resolve();
    await Promise.all(waiting);
    expect([disk.made, disk.textOf("br-c")]).toEqual([["br-c of br-a", "br-c of br-b"], "new br-b"]);
    expect(disk.handed).toEqual(["br-a", "br-b", "br-c", "br-c"]);
  });

  it("a copy of a branch that was never made is one of that branch's source, once another is wanted for the branch", async () => {
    want("br-c", "br-a");
    want("br-d", "br-c");
    want("br-c", "br-b");
    expect(wanted()).toEqual(["br-d of br-a", "br-c of br-b"]);
    await copies.ensure("br-d");
    expect(disk.textOf("br-d")).toBe("new br-a");
  });

  it.each([
    ["of the present", undefined, { kind: "time", at: 20 }],
    ["of a later time", { kind: "time", at: 30 }, { kind: "time", at: 20 }],
    ["of an earlier time", { kind: "time", at: 10 }, { kind: "time", at: 10 }],
  ])("a copy %s of a branch that was never made shows what that was to show", (_, own, shown) => {
    want("br-c", "br-a", { kind: "time", at: 20 });
    want("br-d", "br-c", own);
    want("br-c", "br-b");
    expect(store.branchData.sourceOf("br-d")).toMatchObject({ sourceId: "br-a", point: JSON.stringify(shown) });
    expect(store.branchData.sourceOf("br-c")?.point).toBe(undefined);
  });

  it.each([
    ["an LSN", { kind: "lsn", lsn: "0/10" }, { kind: "lsn", lsn: "0/10" }],
    ["a later call", { kind: "call", at: 30 }, { kind: "call", at: 20 }],
    ["an earlier time", { kind: "time", at: 10 }, { kind: "time", at: 10 }],
  ])(
    "a copy of %s of a branch that was never made shows no more than that was to show at its call",
    (_, own, shown) => {
      want("br-c", "br-a", { kind: "call", at: 20 });
      want("br-d", "br-c", own);
      want("br-c", "br-b");
      expect(store.branchData.sourceOf("br-d")?.point).toBe(JSON.stringify(shown));
    },
  );

  it("a copy of a branch that was never made and was to have the schema alone has the schema alone", () => {
    store.transaction(() => store.branchData.setSource({ branchId: "br-c", sourceId: "br-a", schemaOnly: true }));
    want("br-d", "br-c");
    want("br-c", "br-b");
    const schemaOnly = (id: string) => store.branchData.sourceOf(id)?.schemaOnly;
    expect([schemaOnly("br-d"), schemaOnly("br-c")]).toEqual([true, false]);
  });

  it("a copy that is to have the schema alone of a branch that was never made has the schema alone", () => {
    want("br-c", "br-a");
    store.transaction(() => store.branchData.setSource({ branchId: "br-d", sourceId: "br-c", schemaOnly: true }));
    want("br-c", "br-b");
    expect(store.branchData.sourceOf("br-d")).toMatchObject({ sourceId: "br-a", schemaOnly: true });
  });

  it("a copy of a branch that has data stays one of that, however often another one is wanted for the branch", async () => {
    want("br-c", "br-a");
    want("br-a", "br-b");
    want("br-a", "br-b");
    expect(wanted()).toEqual(["br-c of br-a", "br-a of br-b"]);
    await copies.ensure("br-a");
    expect([disk.textOf("br-c"), disk.textOf("br-a")]).toEqual(["new br-a", "new br-b"]);
  });

  it("a copy is not recorded for a branch that was deleted meanwhile", async () => {
    want("br-c", "br-a");
    const end = Promise.withResolvers<void>();
    disk.held.set("br-c", end);
    const copying = copies.ensure("br-c");
    await expect.poll(() => disk.made).toEqual(["br-c of br-a"]);
    store.branches.delete("br-c");
    end.resolve();
    await copying;
    expect([store.branchData.get("br-c"), disk.handed.at(-1)]).toEqual([undefined, "br-c"]);
  });

  it("a role that comes back with the past has another password each time, which nobody may know", async () => {
    disk.earlier = { roles: [{ name: "gone", login: true }], databases: [], lostRoles: [], lostDatabases: [] };
    const passwords = new Set<string | undefined>();
    for (const _ of ["once", "again"]) {
      want("br-a", "br-b");
      await copies.ensure("br-a");
      passwords.add(store.catalogs.role("br-a", "gone")?.passwordSource);
      store.transaction(() => store.catalogs.deleteRole("br-a", "gone"));
    }
    expect([passwords.size, passwords.has(undefined)]).toEqual([2, false]);
  });

  it("does not begin when the service ends", async () => {
    want("br-c", "br-a");
    ends.abort();
    await expect(copies.ensure("br-c")).rejects.toThrow("the service ends");
    expect(disk.made).toEqual([]);
  });
});

it("four copies of an owner are made at once, however many are wanted, and those of others begin beside them", async () => {
  for (const id of ["br-1", "br-2", "br-3", "br-4", "br-5", "br-6"]) disk.held.set(id, Promise.withResolvers());
  const ofBob = [...disk.held.keys()].map((id) => copies.ensure(id));
  await copies.ensure("br-c");
  expect(disk.made).toEqual(["br-1", "br-2", "br-3", "br-4", "br-c"]);
  disk.held.get("br-3")?.resolve();
  await ofBob[2];
  await expect.poll(() => disk.made.at(-1)).toBe("br-5");
  for (const { resolve } of disk.held.values()) resolve();
  await Promise.all(ofBob);
  expect(disk.textOf("br-6")).toBe("new br-6");
});

it("the projects of an owner take turns with their copies, however many one of them has", async () => {
  const ids = ["br-1", "br-2", "br-3", "br-4", "br-5", "br-6", "br-7", "br-few"];
  for (const id of ids) disk.held.set(id, Promise.withResolvers());
  const all = ids.map((id) => copies.ensure(id));
  await expect.poll(() => disk.made).toHaveLength(4);
  for (const id of ["br-1", "br-2"]) disk.held.get(id)?.resolve();
  await Promise.all(all.slice(0, 2));
  await expect.poll(() => disk.made).toEqual(["br-1", "br-2", "br-3", "br-4", "br-5", "br-few"]);
  for (const { resolve } of disk.held.values()) resolve();
  await Promise.all(all);
});

it("a copy that waits for its turn is not made once its branch is gone, or the service ends", async () => {
  const ids = ["br-1", "br-2", "br-3", "br-4", "br-5", "br-6", "br-7"];
  for (const id of ids.filter((one) => one !== "br-5")) disk.held.set(id, Promise.withResolvers());
  const all = ids.map((id) => copies.ensure(id));
  store.transaction(() => store.branches.delete("br-5"));
  disk.held.get("br-1")?.resolve();
  await all[4];
  await expect.poll(() => disk.made).toEqual(["br-1", "br-2", "br-3", "br-4", "br-6"]);
  ends.abort();
  for (const { resolve } of disk.held.values()) resolve();
  await expect(all[6]).rejects.toThrow("the service ends");
  await Promise.all(all.slice(0, 6));
  expect(disk.made).not.toContain("br-7");
});
