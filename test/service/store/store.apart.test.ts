import { beforeEach, describe, expect, it } from "vitest";
import type { OperationStatus } from "../../../src/api/operation.ts";
import { lookAt } from "../../../src/service/computes/usage.ts";
import { required } from "../../../src/service/refusal.ts";
import type { StoredOperation } from "../../../src/service/store/operations.ts";
import type { Store } from "../../../src/service/store/store.ts";
import { keys, main, preview, primary, project, Shop, staging } from "../support/shop.ts";

// Two of everything, alike but for what tells them apart: a question about one answers nothing of the other.

const other = "shop-two";
let shop: Shop;
let store: Store;
beforeEach(() => {
  shop = new Shop();
  ({ store } = shop.core.context);
});

describe("operations", () => {
  const places = [
    [project, main, primary],
    [project, main, "ep-replica"],
    [project, preview, "ep-preview"],
    [other, "br-two", "ep-two"],
  ] as const;

  /** A chain at each place: one that runs, and one that waits for it. */
  function chains(): StoredOperation[] {
    const insert = (index: number, status: OperationStatus, chain?: number) => {
      const [projectId = "", branchId, endpointId] = places[index] ?? [];
      const id = `${index}-${status}`;
      const rest = { action: "apply_config", effect: "none", durationMs: 0, due: undefined, createdAt: index } as const;
      return store.operations.insert({ id, projectId, branchId, endpointId, chain, status, ...rest });
    };
    const running = places.map((_, index) => insert(index, "running"));
    running.forEach(({ chain }, index) => insert(index, "scheduling", chain));
    return running;
  }
  const ids = (operations: readonly StoredOperation[]) => operations.map(({ id }) => id);

  it("operations are those of one project, one branch and one compute", () => {
    chains();
    const { operations } = store;
    expect(ids(operations.page(other, { beforeSeq: undefined, limit: 9 }))).toEqual(["3-scheduling", "3-running"]);
    const newest = operations.page(project, { beforeSeq: undefined, limit: 2 });
    expect(ids(newest)).toEqual(["2-scheduling", "1-scheduling"]);
    expect(ids(operations.page(project, { beforeSeq: newest[1]?.seq, limit: 1 }))).toEqual(["0-scheduling"]);
    expect(ids(operations.ofEndpoint(project, primary, 9))).toEqual(["0-scheduling", "0-running"]);
    expect(ids(operations.ofBranch(project, main, 9))).toEqual([
      "1-scheduling",
      "0-scheduling",
      "1-running",
      "0-running",
    ]);
    expect(ids(operations.unfinishedOf(project, "ep-replica"))).toEqual(["1-running", "1-scheduling"]);
    expect(operations.get(project, "0-running")?.id).toBe("0-running");
    expect(operations.get(other, "0-running")).toBeUndefined();
  });

  it("what waits for an operation is what follows it in its own chain, and fails with that alone", () => {
    const [first, second] = chains();
    if (!first || !second) throw new Error("no chains");
    const { operations } = store;
    expect(operations.nextInChain(second)?.id).toBe("1-scheduling");
    operations.forceFailure(first.id, "the disk is full");
    expect(operations.reasonOf(first)).toBe("the disk is full");
    expect(operations.reasonOf(second)).toBeUndefined();
    expect(ids(operations.fail(first, 1))).toEqual(["0-scheduling"]);
    const waiting = operations.page(project, { beforeSeq: undefined, limit: 9 });
    expect(ids(waiting.filter(({ status }) => status === "scheduling"))).toEqual(["2-scheduling", "1-scheduling"]);
  });

  it("a project and a branch are busy with operations of their own", () => {
    const [first, second, third, fourth] = chains();
    const { operations } = store;
    const end = (one: StoredOperation | undefined) => {
      if (one)
        for (const each of operations.unfinishedOf(one.projectId, one.endpointId ?? ""))
          operations.setStatus(each.seq, "finished", 1, undefined);
    };
    end(first);
    expect(operations.anyUnfinishedOn(project, main)).toBe(true);
    end(second);
    expect([operations.anyUnfinishedOn(project, main), operations.anyUnfinishedOn(project, preview)]).toEqual([
      false,
      true,
    ]);
    end(third);
    expect([operations.anyUnfinished(project), operations.anyUnfinished(other)]).toEqual([false, true]);
    end(fourth);
    expect(operations.anyUnfinished(other)).toBe(false);
  });
});

describe("branches, roles and databases", () => {
  it("a branch's name is taken in its own project, and its default branch is its own", () => {
    expect([store.branches.isTaken(project, "preview"), store.branches.isTaken(other, "preview")]).toEqual([
      true,
      false,
    ]);
    expect([store.branches.default(project)?.id, store.branches.default(other)?.id]).toEqual([main, "br-two"]);
    expect([store.branches.get(other, preview), store.branches.get(project, "br-two")]).toEqual([undefined, undefined]);
    expect([store.branches.count(project), store.branches.count(other)]).toEqual([3, 1]);
  });

  it("branches of one name, or without an end, are sorted by their age, and those that end come first", () => {
    const { seq: _, ...like } = required("branch", store.branches.get(project, staging));
    const ends = [9, undefined, 5];
    for (const [index, expiresAt] of ends.entries())
      store.branches.insert({ ...like, id: `br-${3 - index}`, name: "same", expiresAt, createdAt: 1 });
    const sorted = (sort: string) =>
      store.branches.find(project, { search: "same", state: "", sort }, { page: 1, size: 9 }).rows.map(({ id }) => id);
    expect([sorted("name"), sorted("newest"), sorted("ends")]).toEqual([
      ["br-3", "br-2", "br-1"],
      ["br-1", "br-2", "br-3"],
      ["br-1", "br-3", "br-2"],
    ]);
  });

  it("another default branch of one project leaves that of the other", () => {
    const wanted = store.branches.get(project, staging);
    if (!wanted) throw new Error("no branch");
    store.branches.setDefault(wanted, 1);
    const defaults = [project, other].map((id) => store.branches.list(id).filter(({ isDefault }) => isDefault));
    expect(defaults.map((list) => list.map(({ id }) => id))).toEqual([[staging], ["br-two"]]);
  });

  it("a role and a database go from one branch, and no other of the branch goes", () => {
    const { catalogs } = store;
    const at = { createdAt: 1, updatedAt: 1 };
    for (const branchId of [main, preview]) {
      catalogs.putRole({ branchId, name: "app", login: true, passwordSource: "s", ...at });
      catalogs.insertDatabase({ branchId, name: "app", ownerName: "app", ...at });
    }
    catalogs.deleteDatabase(main, "app");
    catalogs.deleteRole(main, "app");
    const names = (branchId: string) =>
      [catalogs.roles(branchId), catalogs.databases(branchId)].map((list) => list.map(({ name }) => name));
    expect(names(main)).toEqual([["neondb_owner"], ["neondb"]]);
    expect(names(preview)).toEqual([
      ["neondb_owner", "app"],
      ["neondb", "app"],
    ]);
    expect([catalogs.role(main, "app"), catalogs.database(main, "app")]).toEqual([undefined, undefined]);
    const found = catalogs.database(preview, "app");
    expect([found?.branchId, found?.name]).toEqual([preview, "app"]);
  });

  it("a branch's children are its own, and a deleted branch is found in its own project alone", () => {
    const { branches } = store;
    for (const id of [preview, staging]) {
      const branch = branches.get(project, id);
      if (branch) branches.update({ ...branch, parentId: id === preview ? main : preview }, 1);
    }
    const children = [main, preview].map((id) => {
      const branch = branches.get(project, id);
      return branch && branches.hasChildren(branch);
    });
    expect(children).toEqual([true, true]);
    const mine = branches.get(project, main);
    if (mine) branches.giveChildren(mine, staging, 2);
    const parents = [preview, staging].map((id) => branches.get(project, id)?.parentId);
    expect(parents).toEqual([staging, preview]);
    for (const id of [staging, "br-two"]) branches.hide(id, { at: 1, until: 2, method: "user" });
    const wanted = { search: "", by: "name", descending: false, after: undefined, limit: 9 } as const;
    const listed = (id: string, withDeleted: boolean) =>
      [...store.branchPages.page(id, { ...wanted, withDeleted })].map((branch) => branch.id);
    const deleted = (id: string) => listed(id, true).filter((one) => !listed(id, false).includes(one));
    expect([deleted(project), deleted(other)]).toEqual([[staging], ["br-two"]]);
    expect([branches.deleted(project, staging)?.id, branches.deleted(other, "br-two")?.id]).toEqual([
      staging,
      "br-two",
    ]);
    expect([branches.deleted(other, staging), branches.deleted(project, preview)]).toEqual([undefined, undefined]);
  });

  it("a database is renamed on one branch", () => {
    const [database] = store.catalogs.databases(main);
    if (!database) throw new Error("no database");
    store.catalogs.updateDatabase({ ...database, name: "stock" });
    const names = [main, preview].map((id) => store.catalogs.databases(id).map(({ name }) => name));
    expect(names).toEqual([["stock"], ["neondb"]]);
  });
});

it("usage hours are those of one project, from one hour on, and a week of each is kept", () => {
  const { usageHours } = store;
  const add = (id: string, index: number) => usageHours.add(id, { index, activeMs: 1, computeMs: 1, peak: 1 });
  for (const id of [project, other]) for (const hour of [1, 2]) add(id, hour);
  const hours = (id: string, from: number) => usageHours.since(id, from).map(({ index }) => index);
  expect([hours(project, 0), hours(project, 2), hours(other, 2)]).toEqual([[1, 2], [2], [2]]);
  add(project, 24 * 7 + 2);
  expect([hours(project, 0), hours(other, 0)]).toEqual([[24 * 7 + 2], [1, 2]]);
});

describe("keys and members", () => {
  it("the keys scoped to a project end with it, and no other key", () => {
    const scope = { kind: "project", organizationId: "org-shop", projectId: other } as const;
    store.keys.insert("scoped-to-two", { name: "two", scope, createdBy: "acc-ana", createdAt: 1 });
    store.keys.revokeScopedTo([other], 2);
    const left = [keys.ana, keys.shop, keys.scoped, keys.other, "scoped-to-two"];
    expect(left.map((secret) => store.keys.bySecret(secret) !== undefined)).toEqual([true, true, true, true, false]);
  });

  it("a revoked key is one key", () => {
    const [first, second] = [1, 2].map((n) =>
      store.keys.insert(`key-${n}`, {
        name: "a",
        scope: { kind: "personal", accountId: "acc-ana" },
        createdBy: "acc-ana",
        createdAt: 1,
      }),
    );
    const names = () => [...store.keys.ofAccount("acc-ana")].map(({ id }) => id);
    expect(names()).toContain(first?.id);
    store.keys.revoke(first?.id ?? 0, 2);
    expect(names()).not.toContain(first?.id);
    const [ofShop] = store.keys.ofOrganization("org-shop");
    store.keys.revoke(ofShop?.id ?? 0, 2);
    expect([...store.keys.ofOrganization("org-shop")].map(({ name }) => name)).toEqual(["one-project"]);
    expect([store.keys.get(first?.id ?? 0), store.keys.get(second?.id ?? 0)?.id]).toEqual([undefined, second?.id]);
    expect([store.keys.bySecret("key-1"), store.keys.bySecret("key-2")?.id]).toEqual([undefined, second?.id]);
    expect([...store.keys.ofAccount("acc-bob")].map(({ name }) => name)).toEqual(["laptop"]);
    expect([...store.keys.ofOrganization("org-other")].map(({ name }) => name)).toEqual(["ci"]);
  });

  it("a member leaves one organization, and no other member leaves it", () => {
    store.accounts.putMember({ organizationId: "org-other", accountId: "acc-bob", role: "member", joinedAt: 1 });
    expect(store.accounts.removeMember("org-other", "acc-bob")).toBe(true);
    expect(store.accounts.removeMember("org-other", "acc-bob")).toBe(false);
    expect(store.accounts.members("org-other").map(({ accountId }) => accountId)).toEqual(["acc-eve"]);
    expect(store.accounts.member("org-shop", "acc-bob")?.role).toBe("member");
    expect(store.accounts.member("org-other", "acc-ana")).toBeUndefined();
  });
});

describe("computes", () => {
  it("a compute is found in its own project, and metered for its own project and branch", () => {
    shop.active();
    const { endpoint } = shop.create({ branch_id: preview, type: "read_write" });
    const made = shop.ana(`POST /projects/${other}/endpoints`, {
      endpoint: { branch_id: "br-two", type: "read_only" },
    });
    expect(made.status).toBe(201);
    shop.finishOperations().core.settle();
    shop.create({ branch_id: staging, type: "read_only" });
    const { endpoints } = store;
    expect([endpoints.get(project, primary)?.id, endpoints.get(other, primary)]).toEqual([primary, undefined]);
    expect([endpoints.countMetered(project), endpoints.countMetered(other)]).toEqual([2, 1]);
    expect(endpoints.meteredOn(project, preview).map(({ id }) => id)).toEqual([endpoint.id]);
    expect(endpoints.metered(other).map(({ projectId }) => projectId)).toEqual([other]);
    expect([endpoints.primaryOf(preview)?.id, endpoints.primaryOf(staging)]).toEqual([endpoint.id, undefined]);
  });

  it("the computes of a branch are found for those who own it, and by their states", () => {
    const look = lookAt(shop.core.context, shop.time.now());
    const found = (id: string, state = "") => {
      const owners = [{ kind: id.startsWith("org") ? ("organization" as const) : ("account" as const), id }];
      const rest = { search: "", signature: { fleet: "", key: "" }, sort: "", used: { since: 0, look } };
      const { rows } = store.computeSearch.find({ owners, branchId: main, state, ...rest }, { page: 1, size: 9 });
      return rows.map((row) => row.id);
    };
    expect([found("org-shop"), found("acc-eve"), found("org-other")]).toEqual([[primary], [], []]);
    expect([found("org-shop", "idle"), found("org-shop", "starting")]).toEqual([[primary], []]);
    shop.write(`POST /projects/${project}/endpoints/${primary}/start`);
    expect(found("org-shop", "starting")).toEqual([primary]);
    shop.finishOperations().core.settle();
    expect([found("org-shop", "starting"), found("org-shop", "active")]).toEqual([[], [primary]]);
  });

  it("connections close earlier where the clock is set back behind the last client of their compute, and no others do", () => {
    const { connections, endpoints } = store;
    const second = shop.create({ branch_id: preview, type: "read_write" }).endpoint.id;
    for (const [id, lastActive] of [
      [primary, 5000],
      [second, 1000],
    ] as const) {
      endpoints.update({ ...required("compute", endpoints.byId(id)), lastActive });
      connections.open({ endpointId: id, pooled: false, closesAt: 9000 });
    }
    connections.setBack(2000);
    const closes = shop.database.all("SELECT endpoint_id, closes_at FROM connections");
    expect(Object.fromEntries(closes.map((row) => [row["endpoint_id"], row["closes_at"]]))).toEqual({
      [primary]: 6000,
      [second]: 9000,
    });
  });

  it("connections are those of one compute, direct and pooled ones apart", () => {
    const { connections } = store;
    const second = shop.create({ branch_id: preview, type: "read_write" }).endpoint.id;
    for (const endpointId of [primary, second])
      for (const pooled of [true, false, true]) connections.open({ endpointId, pooled, closesAt: 1 });
    const counts = () => [primary, second].map((id) => [connections.count(id, false), connections.count(id, true)]);
    expect(counts()).toEqual([
      [1, 2],
      [1, 2],
    ]);
    expect(Object.fromEntries(connections.directCounts())).toEqual({ [primary]: 1, [second]: 1 });
    expect(connections.cut(primary)).toBe(3);
    expect(counts()).toEqual([
      [0, 0],
      [1, 2],
    ]);
    expect([connections.any(primary), connections.any(second)]).toEqual([false, true]);
  });
});

describe("projects", () => {
  const usual = (seconds: number) => ({ project: { default_endpoint_settings: { suspend_timeout_seconds: seconds } } });

  it("the usual computes of projects are told apart by their inactivity alone", () => {
    shop.ana(`PATCH /projects/${project}`, usual(3600));
    shop.ana(`PATCH /projects/${other}`, usual(7200));
    const found = store.projects.usualShapes([project, other]).map((one) => one.usual.suspend_timeout_seconds);
    expect(new Set(found)).toEqual(new Set([3600, 7200]));
  });

  it("a deleted branch counts among those of its owner no more, also while it can be recovered", () => {
    shop = new Shop({ branchRecovery: true });
    const { projects } = shop.core.context.store;
    const count = () => projects.countWithin({ kind: "organization", id: "org-shop" }, "branches");
    const before = count();
    shop.ana(`DELETE /projects/${project}/branches/${staging}`);
    expect([before, count()]).toEqual([4, 3]);
  });
});
