import { renameSync, rmSync, writeFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { replacedOf } from "../../../../src/service/domain/undo-restore.ts";
import { BranchStorage } from "../../../../src/service/postgres/branches/branch-storage.ts";
import { ServerFailed } from "../../../../src/service/postgres/host/failure.ts";
import { type FakesOptions, ServiceOnFakes } from "../fake/fake-service.ts";
import { main, project } from "../rig.ts";

const branches = `/projects/${project}/branches`;
const computes = `/projects/${project}/endpoints`;

let fakes: ServiceOnFakes;
let other: string;
let own: string;
let compute: string;
beforeEach(() => begin());
afterEach(() => fakes[Symbol.asyncDispose]());

/** Two children of a branch, each with a row of its own and a compute that runs. */
async function begin(options: FakesOptions = {}): Promise<void> {
  fakes = await ServiceOnFakes.start(undefined, { keepsStore: true, ...options });
  ({ id: other } = await fakes.branch({}, [{ type: "read_write" }]));
  const made = await fakes.branch({}, [{ type: "read_write" }]);
  [own, compute] = [made.id, made.computes[0] ?? ""];
  fakes.write("theirs", other);
  fakes.write("ours", own);
}

/** Lets no copy be made until the returned function is called. */
function withoutRoomForCopies(): () => void {
  const making = `${fakes.data}.postgres/making`;
  renameSync(making, `${making}-away`);
  writeFileSync(making, "");
  return () => {
    rmSync(making);
    renameSync(`${making}-away`, making);
  };
}

async function beginsAgain(): Promise<void> {
  await fakes.stop();
  await fakes.start();
  await fakes.change(`POST ${computes}/${compute}/start`);
}

/** Has the branch be one that began at a point of its parent. */
function beganAtPoint(): void {
  fakes.core.change(({ store }, at) => {
    const branch = store.branches.byId(own);
    if (!branch) throw new Error("the branch is gone");
    const point = { parent_lsn: "0/1", parent_timestamp: "2026-01-01T00:00:00Z" };
    store.branches.update({ ...branch, details: { ...branch.details, ...point } }, at);
  });
}

/** What the API shows of the branch, with passwords. */
function shown(): unknown {
  const { currentState, details, parentId } = fakes.store.branches.byId(own) ?? {};
  const { catalogs } = fakes.store;
  return { currentState, details, parentId, roles: catalogs.roles(own), databases: catalogs.databases(own) };
}

describe("a restore whose copy fails", () => {
  it.each([
    [
      "of another branch",
      () => ({ source_branch_id: other, source_timestamp: new Date(fakes.clock.now()).toISOString() }),
    ],
    ["of its own past", () => ({ source_branch_id: own, source_lsn: "0/FFFFFF0", preserve_under_name: "kept" })],
  ])(
    "a restore %s that fails leaves the branch with all it had, and with what is written since, also after the next start",
    async (what, restore) => {
      await fakes.change(`POST ${branches}/${own}/roles`, { role: { name: "late" } });
      await fakes.change(`POST ${branches}/${own}/databases`, { database: { name: "late", owner_name: "late" } });
      const before = shown();
      const makeRoom = what === "of another branch" ? withoutRoomForCopies() : () => {};
      const [failed] = (await fakes.change(`POST ${branches}/${own}/restore`, restore())).slice(-1);
      expect(failed).toMatchObject({ action: "apply_config", status: "failed" });
      makeRoom();
      expect(shown()).toEqual(before);
      fakes.write("since", own);
      await beginsAgain();
      expect(fakes.contentOf(own).rows).toEqual(["ours", "since"]);
      expect(Object.keys(fakes.contentOf(own).databases)).toContain("late");
      expect([shown(), fakes.store.branchData.sources(), fakes.errors]).toEqual([before, [], []]);
    },
  );

  it("fails the same without a compute that runs, and with its passwords as they were, though its source is protected", async () => {
    await fakes.change(`POST ${computes}/${compute}/suspend`);
    await fakes.change(`PATCH ${branches}/${other}`, { branch: { protected: true } });
    beganAtPoint();
    const before = shown();
    const makeRoom = withoutRoomForCopies();
    expect(await fakes.outcome(`POST ${branches}/${own}/restore`, { source_branch_id: other })).toEqual([
      "create_branch failed",
    ]);
    makeRoom();
    await beginsAgain();
    expect([fakes.contentOf(own).rows, shown()]).toEqual([["ours"], before]);
  });

  it("leaves a branch its children, with the one that keeps what it was, and its project as many roots as before", async () => {
    for (const [name, source] of [
      ["one", main],
      ["two", other],
      ["three", main],
    ] as const) {
      const makeRoom = source === other ? withoutRoomForCopies() : () => {};
      const restore = { source_branch_id: source, ...(source === main && { source_lsn: "0/FFFFFF0" }) };
      const ends = await fakes.outcome(`POST ${branches}/${main}/restore`, { ...restore, preserve_under_name: name });
      expect(ends.at(-1)).toBe("create_branch failed");
      makeRoom();
    }
    const all = fakes.store.branches.list(project).map(({ id, name, parentId }) => ({ id, name, parentId }));
    expect(all.filter(({ parentId }) => parentId === undefined).map(({ id }) => id)).toEqual([main]);
    const children = all.filter(({ parentId }) => parentId === main).flatMap(({ id, name }) => [id, name]);
    expect(children).toEqual(expect.arrayContaining(["one", "two", "three", own, other]));
  });

  it("another restore of the branch succeeds afterwards", async () => {
    const makeRoom = withoutRoomForCopies();
    await fakes.change(`POST ${branches}/${own}/restore`, { source_branch_id: other });
    makeRoom();
    await fakes.change(`POST ${branches}/${own}/restore`, { source_branch_id: other });
    expect([fakes.contentOf(own).rows, fakes.store.branches.byId(own)?.parentId]).toEqual([["theirs"], other]);
    const before = shown();
    await fakes.change(`POST ${branches}/${own}/restore`, { source_branch_id: other, source_lsn: "0/FFFFFF0" });
    expect(shown()).toEqual(before);
  });

  it.each([
    ["is made as soon as it can be, where an earlier version of the service has left one unmade", false, "theirs"],
    ["leaves the branch with what was there before another one that was not made", true, "ours"],
  ])("%s", async (_, isKnown, row) => {
    await fakes.change(`POST ${branches}/${own}/databases`, { database: { name: "late", owner_name: "app" } });
    const { branchData, catalogs } = fakes.store;
    const replaced = isKnown ? replacedOf(fakes.store, own) : undefined;
    catalogs.copy(other, own, 0, (name) => name);
    branchData.setSource({ branchId: own, sourceId: other, replaced });
    const makeRoom = withoutRoomForCopies();
    const [failed] = (await fakes.change(`POST ${branches}/${own}/restore`, { source_branch_id: other })).slice(-1);
    expect(failed).toMatchObject({ status: "failed" });
    makeRoom();
    await beginsAgain();
    const { rows, databases } = fakes.contentOf(own);
    expect([rows, Object.hasOwn(databases, "late")]).toEqual([[row], isKnown]);
    expect(fakes.store.branchData.sources()).toEqual([]);
  });

  it.each([
    ["has an end", 0],
    ["has ended", 120_000],
  ])("leaves a branch without a parent where that %s by then, as it had no child", async (_, passed) => {
    const { id: parent } = await fakes.branch({});
    await fakes.change(`POST ${branches}/${own}/restore`, { source_branch_id: parent });
    const copy = Promise.withResolvers<never>();
    const making = vi.spyOn(BranchStorage.prototype, "make").mockImplementationOnce(() => copy.promise);
    onTestFinished(() => making.mockRestore());
    await fakes.send(`POST ${branches}/${own}/restore`, { source_branch_id: other });
    const end = new Date(fakes.clock.now() + 60_000).toISOString();
    await fakes.send(`PATCH ${branches}/${parent}`, { branch: { expires_at: end } });
    fakes.clock.advance(passed);
    await fakes.until(() => fakes.store.branches.exists(parent) === (passed === 0));
    copy.reject(new ServerFailed("the server ended"));
    await fakes.settled();
    expect(fakes.operations().at(-1)).toMatchObject({ status: "failed" });
    expect(fakes.store.branches.byId(own)?.parentId).toBe(undefined);
  });
});

it("a branch that is being restored gets no children, as it may keep its data without the roles and databases to come", async () => {
  await fakes[Symbol.asyncDispose]();
  await begin({ projectLock: false });
  await fakes.change(`POST ${branches}/${own}/databases`, { database: { name: "late", owner_name: "app" } });
  const makeRoom = withoutRoomForCopies();
  await fakes.send(`POST ${branches}/${own}/restore`, { source_branch_id: other });
  const child = { branch: { parent_id: own }, endpoints: [] };
  expect(await fakes.send(`POST ${branches}`, child)).toMatchObject({ status: 423 });
  await fakes.settled();
  makeRoom();
  const { id } = await fakes.branch({ parent_id: own });
  expect(fakes.store.catalogs.databases(id).map(({ name }) => name)).toContain("late");
});

it("a restore that was answered ends at the next start, where the service ends amid its copy", async () => {
  const making = vi.spyOn(BranchStorage.prototype, "make");
  onTestFinished(() => making.mockRestore());
  const end = Promise.withResolvers<never>();
  making.mockImplementationOnce(() => end.promise);
  await fakes.send(`POST ${branches}/${own}/restore`, { source_branch_id: other });
  const restart = fakes.operations().at(-1)?.id;
  const stopping = fakes.stop();
  end.reject(new ServerFailed("the server ended"));
  await stopping;
  await fakes.start();
  expect(fakes.operations().filter(({ id }) => id === restart)).toMatchObject([{ status: "finished" }]);
  expect([fakes.contentOf(own).rows, fakes.errors]).toEqual([["theirs"], []]);
});
