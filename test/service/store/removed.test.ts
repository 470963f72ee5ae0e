import { expect, it } from "vitest";
import { keys, main, preview, primary, project, Shop, shopSeed } from "../support/shop.ts";

const numbers = "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ?1)";

/** Adds a role, an operation, and a running compute with usage by quarters and days to a project so many times. */
function fill({ core, database }: Shop, count: number): void {
  database.run(`${numbers} INSERT INTO roles SELECT ?2, n + 1, 'more-' || n, 1, '', 0, 0 FROM n`, count, preview);
  const operation = "'op-' || n, ?2, NULL, NULL, n, 'start_compute', 'none', 'finished', 0, NULL, 0, NULL, 0, 0";
  const rest =
    "id, project_id, branch_id, endpoint_id, chain, action, effect, status, failures_count, error, duration_ms, due, created_at, updated_at";
  database.run(`${numbers} INSERT INTO operations (${rest}) SELECT ${operation} FROM n`, count, project);
  core.change(({ store }, at) => {
    const like = store.endpoints.byId(primary);
    if (!like) throw new Error("the primary is gone");
    const running = { ...like, branchId: preview, type: "read_only", currentState: "active", meteredAt: at } as const;
    for (let n = 0; n < count; n += 1) store.endpoints.insert({ ...running, id: `ep-more-${n}`, suspendDue: at + 1 });
  });
  const quarters = "INSERT INTO endpoint_quarters SELECT 'ep-more-' || ((n - 1) / 96), n % 96, 1, 1, 1, 1 FROM n";
  database.run(`${numbers} ${quarters}`, 96 * count);
  const days = "INSERT INTO endpoint_days SELECT 'ep-more-' || ((n - 1) / 8), n % 8, 1 FROM n";
  database.run(`${numbers} ${days}`, 8 * count);
}

/** The rows that a part of a test changes, those that belong to others among them. */
function changedBy({ database }: Shop, act: () => void): number {
  const total = () => Number(database.one("SELECT total_changes() AS n")?.["n"]);
  const before = total();
  act();
  return total() - before;
}

function rowsOf({ database }: Shop): number[] {
  const things = ["projects", "branches", "endpoints", "roles", "operations"];
  const tables = [...things, "endpoint_quarters", "endpoint_days", "removed_endpoints"];
  return tables.map((name) => Number(database.one(`SELECT count(*) AS n FROM ${name}`)?.["n"]));
}

it("a project's deletion changes as few rows as an empty one's, and all that is left goes in small turns", () => {
  const shop = new Shop();
  shop.ana("GET /auth");
  fill(shop, 1000);
  const least = changedBy(shop, () => expect(shop.ana("DELETE /projects/shop-two").status).toBe(200));
  const most = changedBy(shop, () => expect(shop.ana(`DELETE /projects/${project}`).status).toBe(200));
  expect(most).toBeLessThanOrEqual(least + 2);
  const turns: number[] = [];
  const { removed } = shop.core.context.store;
  while (removed.any()) turns.push(changedBy(shop, () => expect(removed.clearSome()).toBe(true)));
  expect(removed.clearSome()).toBe(false);
  // A branch goes with its roles: a thousand are more than the API makes.
  expect(turns.filter((rows) => rows > 1100)).toEqual([]);
  // Those of the three other projects.
  expect(rowsOf(shop)).toEqual([3, 3, 3, 3, 0, 0, 0, 0]);
});

it("what belongs to a deleted project is found no more by anything, before it is cleared and after", () => {
  const shop = new Shop();
  shop.active();
  shop.connect(primary, 60);
  const path = `/projects/${project}`;
  shop.ana(`PATCH ${path}/branches/${preview}`, { branch: { expires_at: "2030-01-01T00:00:00Z" } });
  fill(shop, 3);
  expect(shop.ana(`DELETE ${path}`).status).toBe(200);
  const { branches, endpoints, branchData, projects, unbooked } = shop.core.context.store;
  const owner = { kind: "organization", id: "org-shop" } as const;
  const found = () => [
    ...["", "/branches", `/branches/${main}/roles`, "/endpoints", `/endpoints/${primary}`, "/operations"].map(
      (part) => shop.send(keys.shop, `GET ${path}${part}`).status,
    ),
    shop.send(keys.scoped, "GET /auth").status,
    shop.connect(primary).status,
    branches.byId(main),
    branches.exists(main),
    endpoints.byId("ep-more-1"),
    endpoints.active().filter(({ projectId }) => projectId === project),
    branchData.missing().filter((id) => id === main),
    projects.count(owner),
    projects.countWithin(owner, "computes"),
    projects.list({ owners: [owner], limit: 10 }).map(({ id }) => id),
    unbooked.since([owner], [0], { at: shop.time.now(), timeScale: 1, sizes: {} }),
    projects.find([owner], { search: "", state: "", sort: "" }, { page: 1, size: 10 }).total,
    [...endpoints.goneAmong(["ep-more-1"])],
    endpoints.nextToSuspend(),
  ];
  const nothing = [
    404,
    404,
    404,
    404,
    404,
    404,
    401,
    404,
    undefined,
    false,
    undefined,
    [],
    [],
    1,
    1,
    ["shop-two"],
    [0],
    1,
    ["ep-more-1"],
    undefined,
  ];
  expect(found()).toEqual(nothing);
  // Suspensions, the end of a connection and that of a branch are due by now.
  shop.time.pass(10 * 365 * 86_400_000);
  shop.core.settle();
  expect(found()).toEqual(nothing);
  shop.core.clear();
  expect(found()).toEqual(nothing);
  expect(shop.core.nextDue()).toBeUndefined();
});

it("a seed that is applied again plants its project as new, without anything of the deleted one", () => {
  const shop = new Shop();
  fill(shop, 3);
  shop.ana(`DELETE /projects/${project}`);
  shop.applySeed(shopSeed);
  expect(rowsOf(shop)).toEqual(rowsOf(new Shop()));
});

it("a compute that is deleted leaves its usage to be cleared, and one that comes back keeps its own", () => {
  const shop = new Shop({ branchRecovery: true });
  fill(shop, 3);
  const usage = (id: string) => shop.core.context.store.quarters.since(id, 0).length;
  shop.ana(`DELETE /projects/${project}/endpoints/ep-more-1`);
  shop.ana(`DELETE /projects/${project}/branches/${preview}`);
  shop.core.clear();
  shop.ana(`POST /projects/${project}/branches/${preview}/recover`);
  shop.core.clear();
  const all = () => ["ep-more-0", "ep-more-1", "ep-more-2"].map(usage);
  expect(all()).toEqual([96, 0, 96]);
  shop.ana(`DELETE /projects/${project}/branches/${preview}`);
  shop.core.clear();
  expect(all()).toEqual([96, 0, 96]);
  shop.ana(`DELETE /projects/${project}/branches/${preview}?hard_delete=true`);
  shop.core.clear();
  expect(all()).toEqual([0, 0, 0]);
});
