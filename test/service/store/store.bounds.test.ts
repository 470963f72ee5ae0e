import { expect, it } from "vitest";
import { z } from "zod";
import { Database } from "../../../src/service/store/database.ts";
import { cpuOf } from "../fuzz/work.ts";
import { keys, main, preview, Shop } from "../support/shop.ts";

/** What bounds the rows of each table. A new table needs a line here, and its rows an owner with which they go. */
const bounds: Readonly<Record<string, string>> = {
  accounts: "a seed",
  api_keys: "20,000 of an account or organization; those of a seed stay",
  branch_data: "one of a branch",
  branch_sources: "one of a branch",
  branches: "those of the plan in a project, and as many deleted ones that can be recovered",
  connections: "the connections of a compute",
  databases: "500 of a branch by the API",
  deleted_endpoints: "5,000 of a project",
  endpoint_days: "8 of a compute",
  endpoint_quarters: "96 of a compute",
  endpoints: "5,000 of a project",
  members: "one of an account in an organization",
  meta: "constants of the service",
  operations: "10,000 of a project, and those under way",
  operator_changes: "one of a compute",
  organizations: "a seed",
  projects: "those of the plan of an account or organization",
  removed_endpoints: "cleared while time passes",
  roles: "500 of a branch by the API",
  sqlite_sequence: "one of a table",
  usage_hours: "168 of a project",
};

/** The tables whose rows belong to an account or organization, and those of the service's own. */
const ofOwners = ["accounts", "members", "meta", "organizations", "removed_endpoints", "sqlite_sequence"];

function countsIn({ database }: Shop): Record<string, number> {
  const names = database.all("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name");
  const count = (name: string) => Number(database.one(`SELECT count(*) AS count FROM ${name}`)?.["count"]);
  return Object.fromEntries(names.map(({ name }) => [String(name), count(String(name))]));
}

const Made = z.object({ project: z.object({ id: z.string() }), branch: z.object({ id: z.string() }) });
const MadeBranch = z.object({ branch: z.object({ id: z.string() }), endpoints: z.array(z.object({ id: z.string() })) });

it("each table of the store has its bound named", () => {
  expect(Object.keys(countsIn(new Shop()))).toEqual(Object.keys(bounds));
});

it("a project that is deleted leaves no row in any table once it is cleared", () => {
  const shop = new Shop({ branchRecovery: true });
  const ana = (line: string, body?: object) => {
    const answer = shop.ana(line, body);
    expect([line, answer.status < 300]).toEqual([line, true]);
    shop.finishOperations();
    return answer.body;
  };
  shop.ana("GET /auth");
  const before = countsIn(shop);
  const { project, branch } = Made.parse(ana("POST /projects", { project: { org_id: "org-shop" } }));
  const base = `/projects/${project.id}`;
  const withCompute = { branch: { parent_id: branch.id }, endpoints: [{ type: "read_write" }] };
  const gone = MadeBranch.parse(ana(`POST ${base}/branches`, withCompute));
  const stays = MadeBranch.parse(ana(`POST ${base}/branches`, withCompute));
  const [compute = { id: "" }] = stays.endpoints;
  shop.connect(compute.id, 3600);
  shop.time.pass(7_200_000);
  shop.connect(compute.id, 3600);
  shop.finishOperations();
  ana(`DELETE ${base}/branches/${gone.branch.id}`);
  ana("POST /organizations/org-shop/api_keys", { key_name: "one", project_id: project.id });
  shop.core.change(({ store: { branchData, endpoints } }, at) => {
    const least = { maxConnections: 1, maxWorkerProcesses: 1, maxLocks: 1 };
    branchData.put({ branchId: stays.branch.id, generation: "1", catalog: "{}", ...least });
    branchData.setSource({ branchId: stays.branch.id, sourceId: branch.id });
    endpoints.noteOperator(compute.id, at);
  });
  const full = countsIn(shop);
  const belonging = Object.keys(bounds).filter((name) => !ofOwners.includes(name));
  expect(belonging.filter((name) => (full[name] ?? 0) <= (before[name] ?? 0))).toEqual([]);
  expect(shop.finishOperations().send(keys.shop, `DELETE ${base}`).status).toBe(200);
  shop.core.clear();
  const after = countsIn(shop);
  expect([...belonging, "removed_endpoints"].filter((name) => after[name] !== before[name])).toEqual([]);
});

it("what restores have replaced is not read where the copies that wait are looked through", () => {
  const shop = new Shop();
  const { branchData } = shop.core.context.store;
  const wanted = { branchId: preview, sourceId: main, replaced: JSON.stringify({ roles: "x".repeat(200_000) }) };
  shop.core.change(() => branchData.setSource(wanted));
  expect(branchData.sourceOf(preview)).toMatchObject(wanted);
  expect(branchData.sources()).toEqual([{ branchId: preview, sourceId: main }]);
});

it("the place of a name among others is that of its first letters, whatever marks they have, at little cost", () => {
  const db = new Database(":memory:");
  const plain = (text: string) => db.one("SELECT plain(?) AS plain", text)?.["plain"];
  expect(plain("\u00c9TE\u0301 2")).toBe("ete 2");
  expect(plain(`${"x".repeat(64)}y`)).toBe("x".repeat(64));
  const marked = `a${"\u0301".repeat(127)}${"\u0316".repeat(128)}`;
  // All of them take 0.1 ms, and a project has 5,000 names.
  expect(cpuOf(() => plain(marked), 5000)).toBeLessThan(30);
  db.close();
});
