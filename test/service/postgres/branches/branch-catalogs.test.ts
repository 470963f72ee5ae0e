import { describe, expect, it } from "vitest";
import { BranchCatalogs } from "../../../../src/service/postgres/branches/branch-catalogs.ts";
import { broughtInto, emptyCatalog } from "../../../../src/service/postgres/catalog/branch-catalog.ts";
import { Store } from "../../../../src/service/store/store.ts";
import { realClock } from "../../../support/real-clock.ts";
import { TestService } from "../../support/service.ts";

it("a branch's server is asked once for all calls that wait, however many there are", async () => {
  const store = Store.open(":memory:");
  const unused = () => {
    throw new Error("not used here");
  };
  const catalogs = new BranchCatalogs({
    store,
    clock: realClock,
    storage: { of: unused },
    passwordOf: unused,
    logOut: unused,
    report: unused,
    change: unused,
  });
  const answer = Promise.withResolvers<void>();
  let sessions = 0;
  const connect = async () => {
    sessions += 1;
    await answer.promise;
    return { query: () => Promise.resolve([]), [Symbol.dispose]() {} };
  };
  const callAtOnce = () =>
    Array.from({ length: 50 }, () => catalogs.refresh({ branchId: "br-a", generation: "1" }, connect));
  const first = callAtOnce();
  await expect.poll(() => sessions).toBe(1);
  const later = [...callAtOnce(), ...callAtOnce()];
  answer.resolve();
  await Promise.all([...first, ...later]);
  expect(sessions).toBe(2);
  store.close();
});

it("a role that is made and deleted while the roles and databases cannot all be brought is dropped with the next that can", async () => {
  const service = new TestService().applySeed({
    accounts: [{ id: "acc-ana", email: "ana@example.com", plan: "scale" }],
    projects: [{ id: "p", owner: "acc-ana", branches: [{ id: "br-a", name: "main", default: true, roles: ["late"] }] }],
  });
  const { store, catalog } = service.core.context;
  const limits = { maxConnections: 1, maxWorkerProcesses: 1, maxLocks: 64 };
  const made = { branchId: "br-a", generation: "1", catalog: JSON.stringify(emptyCatalog), ...limits };
  store.branchData.put(made);
  const catalogs = new BranchCatalogs({
    store,
    clock: realClock,
    storage: { of: () => ({ ...made, ...store.branchData.get("br-a"), directory: "" }) },
    passwordOf: (source) => source,
    logOut: () => Promise.resolve(),
    report: () => {},
    change: (act) => store.transaction(act),
  });
  const roles = new Set<string>();
  let isFull = true;
  const query = (sql: string) => {
    const [, verb = "", role = ""] = /^(CREATE|DROP) ROLE "?(\w+)/.exec(sql) ?? [];
    if (verb === "CREATE") roles.add(role);
    if (verb === "DROP") roles.delete(role);
    if (isFull && sql.startsWith("CREATE DATABASE")) return Promise.reject(new Error("the disk is full"));
    if (sql.startsWith("SELECT rolname, (rolname")) return Promise.resolve([...roles].map((name) => [name, "t"]));
    return Promise.resolve(sql.startsWith("SHOW") ? [["170010"]] : []);
  };
  const connect = () => Promise.resolve(Object.assign(JSON.parse("{}"), { query, close() {}, [Symbol.dispose]() {} }));
  const sync = () => catalogs.sync({ branchId: "br-a", generation: "1" }, connect);
  await expect(sync()).rejects.toThrow("the disk is full");
  expect([...roles]).toContain("late");
  const late = catalog.role("br-a", "late");
  if (late) store.transaction(() => catalog.deleteRole(late));
  isFull = false;
  await sync();
  expect([...roles]).not.toContain("late");
});

it("roles lose their logins although what clients have changed in the server cannot be read", async () => {
  const service = new TestService().applySeed({
    accounts: [{ id: "acc-ana", email: "ana@example.com", plan: "scale" }],
    projects: [{ id: "p", owner: "acc-ana", branches: [{ id: "br-a", name: "main", default: true }] }],
  });
  const { store } = service.core.context;
  const role = { name: "gone", login: true, passwordSource: "old" };
  const catalog = JSON.stringify({ ...emptyCatalog, roles: [role] });
  const data = { branchId: "br-a", generation: "1", catalog, maxConnections: 1, maxWorkerProcesses: 1, maxLocks: 64 };
  store.branchData.put(data);
  const loggedOut: unknown[] = [];
  const catalogs = new BranchCatalogs({
    store,
    clock: realClock,
    storage: { of: () => ({ ...data, directory: "" }) },
    passwordOf: (source) => source,
    logOut: (...whose) => Promise.resolve(void loggedOut.push(whose.at(-1))),
    report: () => {},
    change: (act) => store.transaction(act),
  });
  const asked: string[] = [];
  const query = (sql: string) => {
    asked.push(sql);
    if (asked.length === 1) return Promise.reject(new Error("a client holds it up"));
    return Promise.resolve(sql.startsWith("SELECT rolname, (rolname") ? [["gone"]] : []);
  };
  const session = Object.assign(JSON.parse("{}"), { query, close() {}, [Symbol.dispose]() {} });
  const sync = catalogs.sync({ branchId: "br-a", generation: "1" }, () => Promise.resolve(session));
  await expect(sync).rejects.toThrow("a client holds it up");
  expect([asked.at(-1), loggedOut]).toEqual(['ALTER ROLE "gone" NOLOGIN PASSWORD NULL', [["gone"]]]);
});

it("nobody logs in as a role whose password was reset, or that is gone, while its server cannot be changed, and each role again that it knows", async () => {
  const service = new TestService().applySeed({
    accounts: [{ id: "acc-ana", email: "ana@example.com", plan: "scale" }],
    projects: [
      {
        id: "p",
        owner: "acc-ana",
        branches: [
          { id: "br-a", name: "main", default: true, roles: ["app", "late"] },
          { id: "br-b", name: "b" },
        ],
      },
    ],
  });
  const { store } = service.core.context;
  const catalogOf = (sources: Record<string, string>) =>
    JSON.stringify({
      ...emptyCatalog,
      roles: Object.entries(sources).map(([name, passwordSource]) => ({ name, login: true, passwordSource })),
    });
  const kept = store.catalogs.roles("br-a").find(({ name }) => name === "neondb_owner")?.passwordSource ?? "";
  const catalog = catalogOf({ app: "stolen", gone: "old", dropped: "old", never: "", late: "", neondb_owner: kept });
  const limits = { maxConnections: 1, maxWorkerProcesses: 1, maxLocks: 64 };
  const made = { generation: "1", catalog, ...limits };
  store.branchData.put({ branchId: "br-a", ...made });
  const catalogs = new BranchCatalogs({
    store,
    clock: realClock,
    storage: {
      of: (branchId) => ({ branchId, ...made, ...store.branchData.get(branchId), directory: "" }),
    },
    passwordOf: (source) => source,
    logOut: () => Promise.resolve(),
    report: () => {},
    change: (act) => store.transaction(act),
  });
  let refused = /^ALTER ROLE/;
  const query = (sql: string) => {
    if (refused.test(sql)) return Promise.reject(new Error("database is not accepting commands that assign new XIDs"));
    if (sql.startsWith("SELECT rolname, (rolname"))
      return Promise.resolve(["app", "gone", "neondb_owner"].map((name) => [name, "t"]));
    return Promise.resolve(sql.startsWith("SHOW") ? [["170010"]] : []);
  };
  const connect = () => Promise.resolve(Object.assign(JSON.parse("{}"), { query, close() {}, [Symbol.dispose]() {} }));
  const sync = (branchId = "br-a") => catalogs.sync({ branchId, generation: "1" }, connect);
  const out = (branchId = "br-a") =>
    ["app", "gone", "dropped", "never", "late", "neondb_owner"].filter((name) => catalogs.refusesLogin(branchId, name));
  expect(out()).toEqual([]);
  await expect(sync()).rejects.toThrow("not accepting commands");
  expect(out()).toEqual(["app", "gone", "dropped"]);
  refused = /^ALTER ROLE "gone"|^CREATE DATABASE/;
  await expect(sync()).rejects.toThrow("not accepting commands");
  expect(out()).toEqual(["gone", "dropped"]);
  refused = /^CREATE DATABASE/;
  await expect(sync()).rejects.toThrow("not accepting commands");
  expect(out()).toEqual(["dropped"]);
  refused = /^nothing/;
  await sync();
  expect(out()).toEqual([]);
  store.branchData.put({ branchId: "br-a", ...made });
  refused = /^ALTER ROLE/;
  await expect(sync()).rejects.toThrow("not accepting commands");
  expect(out()).toEqual(["app", "gone", "dropped"]);
  // What is noted of a branch goes with it.
  store.branchData.put({ branchId: "br-b", ...made, catalog: catalogOf({ gone: "old" }) });
  await expect(sync("br-b")).rejects.toThrow("not accepting commands");
  expect([...out("br-b"), ...out()]).toEqual(["gone", "app", "gone", "dropped"]);
  store.branches.delete("br-b");
  await expect(sync()).rejects.toThrow("not accepting commands");
  expect(out("br-b")).toEqual([]);
  // Other data of the branch has the logins of today.
  refused = /^CREATE DATABASE/;
  store.branchData.put({ branchId: "br-a", ...made, catalog: catalogOf({ neondb_owner: kept }) });
  await expect(sync()).rejects.toThrow("not accepting commands");
  expect(out()).toEqual([]);
});

describe("a server of data that its branch no longer means", () => {
  /** A branch with `neondb` in the store, whose data of generation `new` has nothing yet. */
  function branch() {
    const service = new TestService().applySeed({
      accounts: [{ id: "acc-ana", email: "ana@example.com", plan: "scale" }],
      projects: [
        {
          id: "p",
          owner: "acc-ana",
          branches: [
            { id: "br-a", name: "main", default: true },
            { id: "br-b", name: "b" },
          ],
        },
      ],
    });
    const { store } = service.core.context;
    const data = {
      branchId: "br-a",
      catalog: JSON.stringify(emptyCatalog),
      maxConnections: 1,
      maxWorkerProcesses: 1,
      maxLocks: 64,
    };
    store.branchData.put({ ...data, generation: "new" });
    const catalogs = new BranchCatalogs({
      store,
      clock: realClock,
      storage: { of: () => ({ ...data, generation: "new", directory: "" }) },
      passwordOf: (source) => source,
      logOut: () => Promise.resolve(),
      report: () => {},
      change: (act) => store.transaction(act),
    });
    const names = () => store.catalogs.databases("br-a").map(({ name }) => name);
    const brought = () =>
      broughtInto(store.branchData.get("br-a") ?? { catalog: "{}" }).databases.map(({ name }) => name);
    return { store, catalogs, names, brought };
  }

  /** A session on a server with these databases. */
  const serverWith =
    (...databases: string[]) =>
    () =>
      Promise.resolve({
        query: () => Promise.resolve(databases.map((name) => [name, "neondb_owner"])),
        [Symbol.dispose]() {},
      });

  it("a server of data that was replaced does not tell what the new data has, so nothing is dropped later", async () => {
    const { catalogs, names, brought } = branch();
    await catalogs.refresh({ branchId: "br-a", generation: "old" }, serverWith("neondb", "mine"));
    expect([names(), brought()]).toEqual([["neondb"], []]);
    await catalogs.refresh({ branchId: "br-a", generation: "new" }, serverWith());
    expect(names()).toEqual(["neondb"]);
  });

  it("a database that a client makes before the API's of that name is brought counts as that, so that it goes with it", async () => {
    const { catalogs, names, brought } = branch();
    await catalogs.refresh({ branchId: "br-a", generation: "new" }, serverWith("neondb"));
    expect([names(), brought()]).toEqual([["neondb"], ["neondb"]]);
  });

  it("a server of data that is to be replaced changes nothing of what the branch will be", async () => {
    const { store, catalogs, names, brought } = branch();
    store.transaction(() => store.branchData.setSource({ branchId: "br-a", sourceId: "br-b" }));
    await catalogs.refresh({ branchId: "br-a", generation: "new" }, serverWith("mine"));
    expect([names(), brought()]).toEqual([["neondb"], []]);
    store.transaction(() => store.branchData.clearSource("br-a"));
    await catalogs.refresh({ branchId: "br-a", generation: "new" }, serverWith("mine"));
    expect([names(), brought()]).toEqual([["neondb", "mine"], ["mine"]]);
  });

  it("what is recorded of the data while its server is asked stays", async () => {
    const { store, catalogs, brought } = branch();
    const row = store.branchData.get("br-a");
    const connect = () => {
      if (row) store.transaction(() => store.branchData.put({ ...row, maxConnections: 901 }));
      return serverWith("neondb", "mine")();
    };
    await catalogs.refresh({ branchId: "br-a", generation: "new" }, connect);
    expect([brought(), store.branchData.get("br-a")?.maxConnections]).toEqual([["neondb", "mine"], 901]);
  });

  it.each([
    ["what is recorded of the data stays", { maxConnections: 901 }, ["neondb"]],
    ["data that replaces it counts as data that has nothing", { generation: "newer" }, []],
  ])("while a server is given roles and databases, %s", async (_, change, databases) => {
    const { store, catalogs, brought } = branch();
    const row = store.branchData.get("br-a");
    let sessions = 0;
    const connect = () => {
      sessions += 1;
      // The first session asks for what clients have changed.
      if (row && sessions === 2) store.transaction(() => store.branchData.put({ ...row, ...change }));
      return Promise.resolve(
        Object.assign(JSON.parse("{}"), { query: () => Promise.resolve([]), [Symbol.dispose]() {} }),
      );
    };
    await catalogs.sync({ branchId: "br-a", generation: "new" }, connect);
    expect(store.branchData.get("br-a")).toMatchObject(change);
    expect(brought()).toEqual(databases);
  });
});
