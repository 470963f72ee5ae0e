import { beforeEach, describe, expect, it } from "vitest";
import { main, primary, project, Shop } from "../support/shop.ts";
import { rowsIn, textOf, Visitor } from "./visitor.ts";

const projectPath = `/app/projects/${project}`;

let shop: Shop;
let ana: Visitor;
beforeEach(() => {
  shop = new Shop();
  ana = new Visitor(shop.core).signIn("acc-ana");
});

/** The first words of each row of a page's list. */
function firstOf(path: string): string[] {
  return rowsIn(ana.get(path)).map(([cell = ""]) => cell.split(" ")[0] ?? "");
}

it.each([
  "/app/projects",
  "/app/computes",
  projectPath,
  `${projectPath}/operations`,
  `${projectPath}/branches/${main}`,
  `${projectPath}/branches/${main}/roles`,
  "/app/keys",
])("the list at %s is first shown whole, in its own order, and shows which state and order were asked for", (path) => {
  shop.create({ branch_id: main, type: "read_only" });
  const selects = (query: string) =>
    [...ana.get(`${path}${query}`).html.matchAll(/<select name="(state|sort)">(.*?)<\/select>/gs)].map(
      ([, name = "", html = ""]) => ({
        name,
        values: [...html.matchAll(/value="([^"]*)"/g)].map(([, value]) => value),
        chosen: /value="([^"]*)" selected/.exec(html)?.[1],
      }),
    );
  const found = selects("");
  expect(found.length).toBeGreaterThan(0);
  expect(found.map(({ values }) => values[0])).toEqual(found.map(() => ""));
  for (const { name, values } of found)
    for (const value of values)
      expect(selects(`?${name}=${value}`).find((one) => one.name === name)?.chosen ?? "").toBe(value);
});

describe("the branches of a project", () => {
  it("the list of branches is filtered by name, id and state, and says where nothing is found", () => {
    shop.active();
    expect(firstOf(`${projectPath}?search=PREV`)).toEqual(["preview"]);
    expect(firstOf(`${projectPath}?search=br-staging`)).toEqual(["staging"]);
    expect(firstOf(`${projectPath}?state=active`)).toEqual(["main"]);
    expect(firstOf(`${projectPath}?state=idle`)).toEqual(["preview", "staging"]);
    expect(firstOf(`${projectPath}?state=nonsense`)).toEqual(["main", "preview", "staging"]);
    expect(textOf(ana.get(`${projectPath}?search=<b>`))).toContain("No branch has <b> in its name");
    expect(textOf(ana.get(`${projectPath}?state=ends`))).toContain("No branch is in this state");
    shop.ana(`POST /projects/${project}/branches`, { branch: { name: "pr-1", expires_at: "2026-01-02T00:00:00Z" } });
    expect(firstOf(`${projectPath}?state=ends`)).toEqual(["pr-1"]);
    expect(firstOf(`${projectPath}?state=busy`)).toEqual(["pr-1"]);
  });

  it("the list of branches is sorted by age, name, end and usage, and by age where the order is none", () => {
    shop.active();
    shop.ana(`POST /projects/${project}/branches`, { branch: { name: "alpha", expires_at: "2026-01-02T00:00:00Z" } });
    shop.time.pass(600_000);
    expect(firstOf(`${projectPath}?sort=newest`)).toEqual(["alpha", "staging", "preview", "main"]);
    expect(firstOf(`${projectPath}?sort=name`)).toEqual(["alpha", "main", "preview", "staging"]);
    expect(firstOf(`${projectPath}?sort=ends`)).toEqual(["alpha", "main", "preview", "staging"]);
    expect(firstOf(`${projectPath}?sort=used`)[0]).toBe("main");
    for (const sort of ["", "constructor", "seq; DROP TABLE branches"])
      expect(firstOf(`${projectPath}?${new URLSearchParams({ sort }).toString()}`)).toEqual([
        "main",
        "preview",
        "staging",
        "alpha",
      ]);
  });
});

describe("the computes", () => {
  it("the list of computes is filtered by state, and sorted", () => {
    shop.active();
    const replica = shop.create({ branch_id: main, type: "read_only", autoscaling_limit_max_cu: 4 }).endpoint.id;
    expect(firstOf("/app/computes?state=active")).toEqual([primary]);
    expect(firstOf("/app/computes?state=starting")).toEqual([replica]);
    shop.finishOperations();
    expect(firstOf("/app/computes?sort=size")[0]).toBe(replica);
    expect(firstOf("/app/computes?sort=newest&search=shop")[0]).toBe(primary);
    expect(firstOf("/app/computes?sort=active")[0]).toBe(replica);
    expect(firstOf("/app/computes?sort=branch&state=active")).toEqual([primary, replica]);
    shop.patch(replica, { disabled: true });
    expect(firstOf("/app/computes?state=disabled")).toEqual([replica]);
    expect(rowsIn(ana.get("/app/computes?state=disabled"))[0]?.[4]).toMatch(/^\w+ disabled/);
    expect(textOf(ana.get("/app/computes?state=disabled&search=nobody"))).toContain("No compute has nobody");
  });

  it("the list of computes has their use this week, recorded or not, and the most used one first", () => {
    const replica = shop.create({ branch_id: main, type: "read_only", autoscaling_limit_max_cu: 1 }).endpoint.id;
    shop.finishOperations();
    shop.active({ suspend_timeout_seconds: -1, autoscaling_limit_min_cu: 2, autoscaling_limit_max_cu: 2 });
    shop.time.pass(3_600_000);
    shop.core.settle();
    const used = () =>
      rowsIn(ana.get("/app/computes?sort=used"))
        .map((row) => [row[0]?.split(" ")[0], row[6]])
        .slice(0, 2);
    const running = used();
    expect(running[0]).toEqual([primary, "2 CU hours"]);
    expect(running[1]?.[0]).toBe(replica);
    shop.write(`POST /projects/${project}/endpoints/${primary}/suspend`);
    shop.finishOperations();
    expect(used()).toEqual(running);
    expect(textOf(ana.get("/"))).toContain("Most used this week");
    expect(textOf(ana.get(`${projectPath}/branches/${main}`))).toContain("2 CU hours this week");
    // The week ends: it was Thursday.
    shop.time.pass(4 * 86_400_000);
    ana = new Visitor(shop.core).signIn("acc-ana");
    expect(used().map(([, words]) => words)).toEqual(["0 CU hours", "0 CU hours"]);
    expect(textOf(ana.get("/"))).not.toContain("Most used this week");
  });

  it("the list of computes counts a week from Monday, across the days of one stretch of use", () => {
    shop.active({ suspend_timeout_seconds: -1, autoscaling_limit_min_cu: 1, autoscaling_limit_max_cu: 1 });
    shop.time.pass(10 * 86_400_000);
    shop.patch(primary, { name: "recorded" });
    shop.write(`POST /projects/${project}/endpoints/${primary}/suspend`);
    shop.finishOperations();
    ana = new Visitor(shop.core).signIn("acc-ana");
    // Of ten days since Thursday midnight, the six since Monday.
    expect(rowsIn(ana.get("/app/computes"))[0]?.[6]).toBe("144 CU hours");
  });

  it("the list of one branch's computes is filtered too", () => {
    const replica = shop.create({ branch_id: main, type: "read_only", name: "Reports" }).endpoint.id;
    shop.finishOperations();
    const ids = (query: string) =>
      rowsIn(ana.get(`${projectPath}/branches/${main}${query}`)).map(([, , id = ""]) => id.split(" ")[0]);
    expect(ids("")).toEqual([primary, replica]);
    expect([ids("?search=repo"), ids("?state=idle"), ids("?state=active")]).toEqual([[replica], [primary], [replica]]);
    expect(textOf(ana.get(`${projectPath}/branches/${main}?state=disabled`))).toContain("No compute is disabled");
  });

  it("the list of one branch's computes begins with the primary, and has the orders of the list of all", () => {
    shop.write(`DELETE /projects/${project}/endpoints/${primary}`);
    const [first, large] = [1, 4].map((autoscaling_limit_max_cu) => {
      const made = shop.create({ branch_id: main, type: "read_only", autoscaling_limit_max_cu }).endpoint.id;
      shop.finishOperations();
      return made;
    });
    const later = shop.create({ branch_id: main, type: "read_write" }).endpoint.id;
    shop.finishOperations();
    shop.connect(first ?? "");
    shop.finishOperations();
    const ids = (sort: string) =>
      rowsIn(ana.get(`${projectPath}/branches/${main}?sort=${sort}`)).map(([, , id = ""]) => id.split(" ")[0]);
    expect(ids("")).toEqual([later, first, large]);
    expect(ids("newest")).toEqual([later, large, first]);
    expect(ids("size")[0]).toBe(large);
    expect(ids("active")[0]).toBe(first);
  });

  it("the list of a branch's computes keeps search and order when one of them is resized", () => {
    const replica = shop.create({ branch_id: main, type: "read_only", name: "Reports" }).endpoint.id;
    shop.finishOperations();
    const seen = ana.get(`${projectPath}/branches/${main}?search=repo&sort=size`);
    const action = /<form class="change" method="post" action="([^"]+)"/.exec(seen.html)?.[1]?.replaceAll("&amp;", "&");
    expect(action).toBe(`${projectPath}/branches/${main}?search=repo&sort=size`);
    const sent = { compute: replica, shown: "1/1/0", min: "1", max: "2", suspend: "0" };
    ana.get(action ?? "");
    expect(ana.postOnly(action ?? "", sent).headers["location"]).toBe(`${action}#${replica}`);
  });
});

it("the list of projects is filtered by state, and sorted", () => {
  shop.active();
  expect(firstOf("/app/projects?state=active")).toEqual(["shop"]);
  expect(firstOf("/app/projects?state=idle").toSorted()).toEqual(["ana-own", "shop-two"]);
  expect(firstOf("/app/projects?sort=name")).toEqual(["ana-own", "shop", "shop-two"]);
  expect(firstOf("/app/projects?sort=newest")[0]).toBe("ana-own");
});

it("the list of operations has 50 of 10,000 on a page with the total, filtered by status and action", () => {
  const path = `${projectPath}/operations`;
  const started = shop.write(`POST /projects/${project}/endpoints/${primary}/start`);
  shop.finishOperations();
  shop.core.change(({ store }) => {
    const [operation] = store.operations.page(project, { beforeSeq: undefined, limit: 1 });
    if (!operation) throw new Error("there is no operation");
    const { seq: _, ...first } = operation;
    for (let index = 0; index < 120; index += 1)
      store.operations.insert({ ...first, id: `x${index}`, action: "apply_config", chain: undefined });
  });
  expect(started.operations).toHaveLength(1);
  expect([rowsIn(ana.get(path)).length, textOf(ana.get(path))]).toEqual([
    50,
    expect.stringContaining("Page 1 of 3, 121 operations Next"),
  ]);
  expect(firstOf(`${path}?page=3`)).toHaveLength(21);
  expect(firstOf(`${path}?search=start%20comp`)).toEqual(["start"]);
  expect(firstOf(`${path}?sort=oldest`)[0]).toBe("start");
  expect(textOf(ana.get(`${path}?state=failed`))).toContain("None like this.");
});

it.each([
  "/app/projects",
  projectPath,
  `${projectPath}/operations`,
  "/app/keys",
  `${projectPath}/branches/${main}/roles`,
])("a page of %s beyond the last one shows the last one", (path) => {
  shop.active();
  const rows = rowsIn(ana.get(path));
  expect(rows).not.toEqual([]);
  expect(rowsIn(ana.get(`${path}?page=9&page-databases=9&page-org-shop=9`))).toEqual(rows);
});
