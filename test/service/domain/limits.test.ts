import { describe, expect, it, vi } from "vitest";
import { keys, main, preview, primary, project, Shop } from "../support/shop.ts";

const branches = `/projects/${project}/branches`;

it("a transfer and a deletion read none of the branches and computes of a project", () => {
  const shop = new Shop();
  const { database } = shop;
  database.run("UPDATE branches SET details = 'no JSON' WHERE project_id = ?", project);
  database.run("UPDATE endpoints SET settings = 'no JSON' WHERE project_id = ?", project);
  const moved = { destination_org_id: "org-shop", project_ids: [project] };
  shop.core.change((context, at) => context.store.projects.setOwner([project], { kind: "account", id: "acc-ana" }, at));
  expect(shop.ana("POST /users/me/projects/transfer", moved).status).toBe(200);
  expect(shop.ana(`DELETE /projects/${project}`).status).toBe(200);
  expect(shop.send(keys.shop, `GET /projects/${project}`).status).toBe(404);
});

it("a transfer of many projects asks the store no more than that of one", () => {
  const shop = new Shop();
  const ids = Array.from({ length: 20 }, (_, n) => `more-${n}`);
  shop.applySeed({ projects: ids.map((id) => ({ id, owner: "acc-ana", branches: [{ id: `br-${id}` }] })) });
  shop.ana("GET /auth");
  const asks = (["one", "all", "run"] as const).map((kind) => vi.spyOn(shop.database, kind));
  const transfer = (project_ids: string[]) => {
    shop.core.nextDue();
    for (const spy of asks) spy.mockClear();
    const { status } = shop.ana("POST /users/me/projects/transfer", { destination_org_id: "org-shop", project_ids });
    return [status, asks.flatMap(({ mock }) => mock.calls.map(([sql]) => sql))];
  };
  expect(transfer(ids)).toEqual(transfer(["ana-own"]));
  const owners = [...ids, "ana-own"].map((id) => shop.core.context.store.projects.get(id)?.owner.id);
  expect(new Set(owners)).toEqual(new Set(["org-shop"]));
});

it("a call that would restart more than 100 running computes is refused, and suspends or changes none", () => {
  const shop = new Shop();
  const { store } = shop.core.context;
  const run = (count: number) =>
    shop.core.change((_, at) => {
      const like = store.endpoints.byId(primary);
      if (!like) throw new Error("the primary is gone");
      for (let n = 0; n < count; n += 1) {
        const own = { id: `ep-more-${store.endpoints.count(project)}`, branchId: preview, createdAt: at } as const;
        store.endpoints.insert({ ...like, ...own, type: "read_only", currentState: "active", meteredAt: at });
      }
    });
  const restore = () => shop.ana(`POST ${branches}/${preview}/restore`, { source_branch_id: main });
  run(101);
  const refused = restore();
  expect([refused.status, refused.body["message"]]).toEqual([
    422,
    "restarts limit exceeded: a call restarts at most 100 running computes, so suspend others first",
  ]);
  expect(store.operations.anyUnfinished(project)).toBe(false);
  expect(shop.ana(`POST /projects/${project}/endpoints/ep-more-7/suspend`).status).toBe(200);
  shop.finishOperations();
  expect(restore().status).toBe(200);
});

/** A shop whose organization has 11,990 branches or computes more, in the project `shop-two`. */
function shopWithMore(what: "branches" | "endpoints", like: string): Shop {
  const shop = new Shop({ rateLimits: undefined });
  const { database } = shop;
  const columns = database.all(`SELECT name FROM pragma_table_info('${what}')`).map(({ name }) => String(name));
  const own: Readonly<Record<string, string>> = {
    id: "'more-' || n",
    seq: "1000 + n",
    project_id: "'shop-two'",
    is_default: "0",
    type: "'read_only'",
    ...(what === "endpoints" && { branch_id: "'br-two'" }),
  };
  const values = columns.map((name) => own[name] ?? name).join(", ");
  const numbers = "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 11990)";
  database.run(`${numbers} INSERT INTO ${what} SELECT ${values} FROM n, ${what} WHERE id = ?`, like);
  return shop;
}

describe("an owner whose projects have 12,000 branches or computes together", () => {
  it("gets no more computes in any of them, alone, with a branch or with a project, and none by a transfer", () => {
    const shop = shopWithMore("endpoints", primary);
    const endpoint = { branch_id: preview, type: "read_only" };
    const make = (count: number) => {
      const endpoints = Array.from({ length: count }, () => ({ type: "read_only" }));
      const { status } = shop.ana(`POST ${branches}`, { branch: { parent_id: main }, endpoints });
      shop.time.pass(30_000);
      return status;
    };
    const before = shop.core.context.store.projects.countWithin({ kind: "organization", id: "org-shop" }, "computes");
    expect([make(12_001 - before), make(12_000 - before), make(1), make(0)]).toEqual([422, 201, 422, 201]);
    expect(shop.ana(`POST /projects/${project}/endpoints`, { endpoint }).body["message"]).toBe(
      "computes limit exceeded: all projects of an owner together have at most 12000 computes, so delete one first",
    );
    expect(shop.ana("POST /projects", { project: { org_id: "org-shop" } }).status).toBe(422);
    const moved = { destination_org_id: "org-shop", project_ids: ["ana-own"] };
    expect(shop.ana("POST /users/me/projects/transfer", moved)).toMatchObject({
      status: 406,
      body: { message: expect.stringMatching(/^the projects cannot go to org-shop: computes limit exceeded/) },
    });
    expect(shop.core.context.store.projects.get("ana-own")?.owner).toEqual({ kind: "account", id: "acc-ana" });
  });

  it("gets no more branches in any of them, and none with a project", () => {
    const shop = shopWithMore("branches", preview);
    const statuses = Array.from({ length: 8 }, () => {
      const { status } = shop.ana(`POST ${branches}`, { branch: { parent_id: main } });
      shop.finishOperations();
      return status;
    });
    const count = shop.core.context.store.projects.countWithin({ kind: "organization", id: "org-shop" }, "branches");
    expect([count, statuses[0], statuses.at(-1)]).toEqual([12_000, 201, 422]);
    expect(shop.ana("POST /projects", { project: { org_id: "org-shop" } }).body["message"]).toBe(
      "branches limit exceeded: all projects of an owner together have at most 12000 branches, so delete one first",
    );
    expect(shop.ana("POST /projects", { project: {} }).status).toBe(201);
  });
});
