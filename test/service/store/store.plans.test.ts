import { DatabaseSync } from "node:sqlite";
import { expect, it, onTestFinished, vi } from "vitest";
import { setBack } from "../../../src/service/computes/set-back.ts";
import { keys, preview, primary, project, Shop } from "../support/shop.ts";

/** The statements that a new shop's store runs meanwhile, each once. */
function statementsOf(act: (shop: Shop) => void): { shop: Shop; statements: string[] } {
  const shop = new Shop({ branchRecovery: true, rateLimits: undefined });
  const prepared = vi.spyOn(DatabaseSync.prototype, "prepare");
  onTestFinished(() => prepared.mockRestore());
  act(shop);
  const statements = [...new Set(prepared.mock.calls.map(([sql]) => sql))];
  prepared.mockRestore();
  return { shop, statements };
}

/** Steps that read a table or an index from its beginning; lists of ids in a statement are none. */
function scansIn({ shop, statements }: ReturnType<typeof statementsOf>): string[] {
  return statements.flatMap((sql) => {
    const steps = shop.database.all(`EXPLAIN QUERY PLAN ${sql}`).map(({ detail }) => String(detail));
    const scans = steps.filter((step) => /^SCAN (?!json_each|wanted|owned|found|place|CONSTANT)/.test(step));
    return scans.map((step) => `${step}: ${sql}`);
  });
}

it("what is asked in the name of one owner is found by an index, whatever others have", () => {
  const owners = [
    { kind: "account", id: "acc-ana" },
    { kind: "organization", id: "org-shop" },
  ] as const;
  const found = statementsOf(({ core }) => {
    const { store } = core.context;
    const page = { page: 1, size: 10 };
    const look = { at: 1, timeScale: 1, sizes: {} };
    const used = { since: 0, look };
    const signature = { fleet: "f", key: "k" };
    for (const sort of ["", "used", "branch", "size"]) {
      for (const search of ["", "a/b"]) {
        store.computeSearch.find({ owners, search, state: "", sort, signature, used }, page);
        store.projects.find(owners, { search, state: "active", sort }, page);
        store.branches.find(project, { search, state: "active", sort }, page);
        store.operations.find(project, { search, state: "", sort }, page);
      }
    }
    store.branches.expiring(owners, 1, 10);
    store.operations.failed(owners, 0, 10);
    store.unbooked.since(owners, [1, 2], look);
    store.unbooked.ofProjects([project], look);
    for (const branch of [undefined, "br-none"]) store.unbooked.ofBranches(project, look, branch);
    store.projects.computeMsSince(owners, [1, 2], 3);
    store.projects.list({ owners, limit: 10 });
    for (const what of ["branches", "computes"] as const) store.projects.countWithin(owners[0], what);
    for (const by of ["email", "role", "joined_at"] as const) {
      store.accounts.memberPage("org-shop", { by, descending: true, after: ["a", "b"], limit: 1 });
    }
    store.operations.ofEndpoint(project, primary, 1);
    store.operations.ofBranch(project, "br-none", 1);
    for (const branch of store.branches.list(project)) store.branches.hasChildren(branch);
    store.branches.isTaken(project, "none");
    for (const by of ["name", "created_at", "updated_at"] as const) {
      const wanted = { search: "none", by, descending: true, after: ["a", 1], limit: 1 } as const;
      for (const withDeleted of [true, false]) store.branchPages.page(project, { ...wanted, withDeleted });
    }
    store.branchPages.countWith(project, "none");
  });
  expect(found.statements.length).toBeGreaterThan(30);
  expect(scansIn(found)).toEqual([]);
});

it("what thousands of rows are found, sorted and added up by is read from an index alone", () => {
  const owners = [{ kind: "account", id: "acc-ana" }] as const;
  const { shop, statements } = statementsOf(({ core }) => {
    const { store } = core.context;
    const look = { at: 1, timeScale: 1, sizes: {} };
    const page = { page: 1, size: 10 };
    for (const sort of ["", "newest", "used", "size", "active"]) {
      const wanted = { owners, search: "", state: "active", sort, signature: { fleet: "", key: "" } };
      store.computeSearch.find({ ...wanted, used: { since: 0, look } }, page);
    }
    store.unbooked.since(owners, [1, 2], look);
    store.unbooked.ofProjects([project], look);
    store.unbooked.ofBranches(project, look);
    store.endpoints.countMetered(project);
    store.endpoints.lastActive(project);
    store.endpoints.shapes([project]);
    store.branches.expiring(owners, 1, 10);
    store.operations.failed(owners, 0, 10);
    store.projects.any(owners);
    store.projects.among([project], owners[0]);
    for (const what of ["branches", "computes"] as const) store.projects.countWithin(owners[0], what);
  });
  const steps = statements.flatMap((sql) => shop.database.all(`EXPLAIN QUERY PLAN ${sql}`));
  const rows = steps.map(({ detail }) => String(detail)).filter((step) => / USING INDEX /.test(step));
  expect(steps.length).toBeGreaterThan(100);
  // Those of the page that was found are read whole, each by its id.
  expect(rows.filter((step) => !/ \(id=\?\)| \(seq=\?\)/.test(step))).toEqual([]);
});

it("a project that goes ends its keys without a look at those of others", () => {
  const found = statementsOf(({ core }) => core.change(({ store }, at) => store.keys.revokeScopedTo([project], at)));
  expect(scansIn(found)).toEqual([]);
  expect(found.shop.send(keys.scoped, `GET /projects/${project}`).status).toBe(401);
});

it("a branch without data is found among those that have none, and is none once it has some", () => {
  const { database, core } = new Shop();
  const { branchData, branches } = core.context.store;
  const ready = branchData.missing();
  const plan =
    "SELECT id FROM branches INDEXED BY branches_without_data WHERE current_state = 'ready' AND lacks_data = 1";
  expect(database.all(`EXPLAIN QUERY PLAN ${plan} ORDER BY seq`)).toHaveLength(1);
  const sizes = { maxConnections: 1, maxWorkerProcesses: 1, maxLocks: 1 };
  const [first = "", ...others] = ready;
  branchData.put({ branchId: first, generation: "one", catalog: "{}", ...sizes });
  branchData.put({ branchId: first, generation: "two", catalog: "{}", ...sizes });
  expect([branches.exists(first), branchData.missing()]).toEqual([true, others]);
});

it("the copies that another one waits for are found by an index, however many are wanted of all branches", () => {
  const wanted = { seq: 9, branchId: "br-one", sourceId: "br-two", point: undefined, schemaOnly: false };
  const found = statementsOf(({ core }) => core.context.store.branchData.before({ ...wanted, replaced: undefined }));
  expect(found.statements).toHaveLength(2);
  expect(scansIn(found)).toEqual([]);
  const steps = found.statements.flatMap((sql) => found.shop.database.all(`EXPLAIN QUERY PLAN ${sql}`));
  expect(steps.map(({ detail }) => String(detail)).filter((step) => /rowid/.test(step))).toEqual([]);
});

it("the size in use of a compute is found by its key in every sum, however many computes have clients", () => {
  const { shop, statements } = statementsOf(({ core }) => {
    const { unbooked } = core.context.store;
    const look = { at: 1, timeScale: 1, sizes: { [primary]: 1 } };
    unbooked.since([{ kind: "account", id: "acc-ana" }], [1], look);
    unbooked.ofProjects([project], look);
    unbooked.ofBranches(project, look);
  });
  const steps = statements.map((sql) => shop.database.all(`EXPLAIN QUERY PLAN ${sql}`).map(({ detail }) => detail));
  expect(steps).toHaveLength(3);
  for (const found of steps) expect(found).toContainEqual(expect.stringMatching(/^SEARCH running USING AUTOMATIC/));
});

it("a start finds what is under way by an index, however many operations have ended", () => {
  for (const due of [undefined, 1]) {
    const found = statementsOf(({ core }) => core.change(({ store }) => store.operations.setEnds(due)));
    expect(found.statements.filter((sql) => sql.startsWith("UPDATE"))).toHaveLength(1);
    expect(
      scansIn(found).filter((step) => !step.startsWith("SCAN operations USING INDEX operations_unfinished")),
    ).toEqual([]);
  }
});

it("what the store looks for as a row is added or goes is found by an index, however many rows there are", () => {
  const { shop } = statementsOf(() => {});
  const triggers = shop.database
    .all("SELECT sql FROM sqlite_master WHERE type = 'trigger'")
    .map(({ sql }) => String(sql));
  const statements = triggers.flatMap((sql) => {
    const [, condition = "", body = ""] = /^(.*?)\bBEGIN\b(.*)\bEND$/s.exec(sql) ?? [];
    const asked = [...condition.matchAll(/\((SELECT [^()]*)\)/g)].map(([, select = ""]) => select);
    return [...asked, ...body.split(";").filter((one) => one.trim() !== "")];
  });
  const without = statements.map((sql) => sql.replaceAll(/\b(?:old|new)\.\w+/g, "'x'"));
  expect(without.length).toBeGreaterThan(triggers.length);
  expect(scansIn({ shop, statements: without })).toEqual([]);
});

it("what belongs to one object, and what is due next, is found by an index, and no index is kept for nothing", () => {
  const found = statementsOf(() => {
    const one = new Shop({ branchRecovery: true });
    const { store } = one.core.context;
    const page = { page: 1, size: 10 };
    const wanted = { search: "", state: "", sort: "" };
    for (const scope of [
      { kind: "personal", accountId: "acc-ana" },
      { kind: "organization", organizationId: "org-shop" },
    ] as const) {
      store.keys.find(scope, wanted, page);
      store.keys.count(scope);
    }
    one.ana("GET /projects?org_id=org-shop");
    one.ana("GET /users/me/organizations");
    one.ana(`GET /projects/${project}/operations`);
    one.connect(primary, 5);
    one.finishOperations();
    store.operations.openEnded();
    store.operations.ofEndpoint(project, primary, 1);
    store.operations.ofBranch(project, preview, 1);
    store.branches.list(project);
    one.ana(`GET /projects/${project}/branches?include_deleted=true`);
    one.ana(`DELETE /projects/${project}/branches/${preview}`);
    one.ana(`POST /projects/${project}/branches/${preview}/recover`);
    store.branchData.isSource(preview);
    store.branchData.missing();
    store.catalogs.roles(preview);
    store.catalogs.findRoles(preview, wanted, page);
    const owners = [{ kind: "organization", id: "org-shop" }] as const;
    store.operations.failed(owners, 0, 10);
    store.branches.expiring(owners, 1, 10);
    one.core.change((context, at) => setBack(context, at));
    one.ana(`DELETE /projects/${project}`);
    store.removed.any();
  });
  // Of what is due, under way or not yet cleared the index has nothing else; clients are all looked at.
  const asked = found.statements.filter((sql) => /^(?:SELECT|UPDATE|DELETE|INSERT|WITH)/.test(sql));
  const scans = scansIn({ ...found, statements: asked }).flatMap((step) => /^SCAN [a-z]{4,}[^:]*/.exec(step) ?? []);
  expect(new Set(scans)).toEqual(
    new Set([
      "SCAN branches USING INDEX branches_without_data",
      "SCAN connections",
      "SCAN connections USING COVERING INDEX connections_by_endpoint",
      "SCAN connections USING INDEX connections_by_close",
      "SCAN endpoints USING INDEX endpoints_active",
      "SCAN operations USING INDEX operations_open_ended",
      "SCAN operations USING INDEX operations_unfinished",
      "SCAN projects USING COVERING INDEX projects_removed",
      "SCAN removed_endpoints",
    ]),
  );
  const plans = asked.flatMap((sql) => found.shop.database.all(`EXPLAIN QUERY PLAN ${sql}`));
  const used = plans.map(({ detail }) => / INDEX (\w+)/.exec(String(detail))?.[1]);
  const all = found.shop.database.all(
    "SELECT name FROM sqlite_master WHERE type = 'index' AND sql NOT LIKE '%UNIQUE%'",
  );
  // A trigger asks by it.
  expect(all.map(({ name }) => name).filter((name) => !used.includes(String(name)))).toEqual([
    "deleted_endpoints_by_id",
  ]);
});
