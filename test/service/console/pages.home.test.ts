import { beforeEach, describe, expect, it } from "vitest";
import { main, primary, project, Shop } from "../support/shop.ts";
import { problemIn, rowsIn, textOf, Visitor } from "./visitor.ts";

const day = 86_400_000;

let shop: Shop;
let ana: Visitor;
beforeEach(() => {
  shop = new Shop();
  ana = new Visitor(shop.core).signIn("acc-ana");
});

/** The figures on the home page by name. */
function figures(visitor = ana): Record<string, string> {
  const seen = visitor.get("/");
  const pairs = [...seen.html.matchAll(/<dt>(.*?)<\/dt><dd>(.*?)<\/dd>/gs)];
  return Object.fromEntries(pairs.map(([, name = "", html = ""]) => [name, textOf({ ...seen, html })]));
}

/** A part of the home page as text. */
function part(id: string, visitor = ana): string {
  const seen = visitor.get("/");
  const html = new RegExp(`<section id="${id}".*?</section>`, "s").exec(seen.html)?.[0] ?? "";
  return textOf({ ...seen, html });
}

/** Lets time pass while the person stays signed in. */
function pass(ms: number): void {
  shop.time.pass(ms);
  shop.core.settle();
  ana = new Visitor(shop.core).signIn("acc-ana");
}

describe("the home page", () => {
  it("gives every part that follows changes an id of its own", () => {
    shop.active({ suspend_timeout_seconds: -1 });
    pass(3_600_000);
    const ids = [...ana.get("/").html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
    expect(ids.filter((id) => id?.endsWith(primary))).toEqual([primary, `used-${primary}`]);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it("says what is active now, and used today and this week since Monday, recorded or not", () => {
    expect(figures()).toEqual({
      "Active now": "0 computes",
      "Used today": "0 CU hours",
      "Used this week": "0 CU hours",
    });
    expect(ana.get("/").html).not.toContain("Most used this week");
    // The clock of tests begins on Thursday, 1 January 2026.
    shop.active({ suspend_timeout_seconds: -1, autoscaling_limit_min_cu: 2, autoscaling_limit_max_cu: 2 });
    pass(12 * 3_600_000);
    expect(figures()).toMatchObject({
      "Active now": "1 compute",
      "Used today": "24 CU hours",
      "Used this week": "24 CU hours",
    });
    expect(rowsIn(ana.get("/"))[0]?.[0]).toBe(primary);
    pass(day);
    expect(figures()).toMatchObject({ "Used today": "24 CU hours", "Used this week": "72 CU hours" });
    shop.write(`POST /projects/${project}/endpoints/${primary}/suspend`);
    pass(2.5 * day);
    expect(figures()).toMatchObject({
      "Active now": "0 computes",
      "Used today": "0 CU hours",
      "Used this week": "0 CU hours",
    });
  });

  it("shows ten computes that are active, and leads to all where there are more", () => {
    shop.active();
    const more = () => {
      shop.create({ branch_id: main, type: "read_only" });
      shop.finishOperations();
    };
    for (let count = 1; count < 10; count += 1) more();
    expect([figures()["Active now"], /All \d+/.exec(part("active"))]).toEqual(["10 computes", null]);
    more();
    expect([figures()["Active now"], /All \d+/.exec(part("active"))?.[0]]).toEqual(["11 computes", "All 11"]);
  });

  it("shows what ends within seven days, the next one first, with the object that keeps it", () => {
    const made = (name: string, ms: number, annotation_value = {}) => {
      shop.ana(`POST /projects/${project}/branches`, {
        branch: { name, expires_at: new Date(shop.time.now() + ms).toISOString() },
        annotation_value,
      });
      shop.finishOperations();
    };
    made("later", 7 * day - 3_600_000);
    made("next", day, { "compute-operator.dev/uid": "0b3c", "compute-operator.dev/object": "shop/next" });
    made("after-the-week", 7 * day + 3_600_000);
    expect(part("ending")).toMatch(/next shop 2026-01-02 00:00 UTC , in 23 hours Branch shop\/next later shop /);
    expect(part("ending")).not.toContain("after-the-week");
  });

  it("shows what failed in the last seven days, the newest first, and why", () => {
    const { operations } = shop.write(`POST /projects/${project}/endpoints/${primary}/start`);
    shop.core.change(({ store }) => store.operations.forceFailure(operations[0]?.id ?? "", "<made> to fail"));
    shop.finishOperations();
    expect(part("failed")).toContain(`start compute shop ${primary} <made> to fail`);
    const { html } = ana.get("/");
    expect(html).not.toContain("<made>");
    expect(html).toContain(`<a href="/app/projects/${project}/operations?state=failed">start compute</a>`);
    expect(html).toContain(`<a href="/app/projects/${project}">shop</a>`);
    // A Wednesday: that was in the week before.
    pass(6 * day);
    expect(part("failed")).toMatch(/<made> to fail 2026-01-01 00:00 UTC [56] days ago/);
    pass(2 * day);
    expect(part("failed")).toContain("No operation failed.");
  });

  it("shows an operation that began before the last seven days, and failed in them", () => {
    shop.core.change(({ store }, at) => {
      const times = { durationMs: 1, due: undefined, createdAt: at - 8 * day };
      const where = { projectId: project, branchId: undefined, endpointId: undefined, chain: undefined };
      const what = { id: "op-late", action: "apply_config", effect: "none", status: "running" } as const;
      const operation = store.operations.insert({ ...what, ...where, ...times });
      store.operations.forceFailure(operation.id, "late");
      store.operations.fail(operation, at);
    });
    expect(part("failed")).toContain("apply config shop late");
  });

  it("says what to do next where there is nothing, and makes a first project for an account that has none", () => {
    expect([part("active"), part("ending"), part("failed")]).toEqual([
      expect.stringContaining("Nothing is active. A connection wakes a compute: choose one"),
      expect.stringContaining("The page of a branch gives it an end: choose a project"),
      expect.stringContaining("No operation failed."),
    ]);
    shop.applySeed({ accounts: [{ id: "acc-new", email: "new@example.com" }] });
    const visitor = new Visitor(shop.core).signIn("acc-new");
    expect(textOf(visitor.get("/"))).toContain("There are no projects yet. Make the first one");
    const seen = visitor.post("/app/projects", { name: "first" });
    expect(textOf(seen)).toContain("The project is created, with a branch and its compute.");
    expect(rowsIn(visitor.get("/app/projects")).map(([name, , owner]) => [name, owner])).toEqual([["first", "You"]]);
  });

  it("shows nothing of somebody else's", () => {
    shop.active();
    shop.ana(`POST /projects/${project}/branches`, { branch: { name: "pr-1", expires_at: "2026-01-02T00:00:00Z" } });
    shop.finishOperations();
    const { operations } = shop.patch(primary, { autoscaling_limit_max_cu: 2 });
    shop.core.change(({ store }) => store.operations.forceFailure(operations[0]?.id ?? "", "made to fail"));
    shop.finishOperations();
    shop.time.pass(3_600_000);
    const eve = new Visitor(shop.core).signIn("acc-eve");
    expect(figures(eve)).toEqual({
      "Active now": "0 computes",
      "Used today": "0 CU hours",
      "Used this week": "0 CU hours",
    });
    const page = textOf(eve.get("/"));
    for (const word of [primary, "pr-1", "made to fail"]) expect(page).not.toContain(word);
    expect([part("ending").includes("pr-1"), part("failed").includes("made to fail")]).toEqual([true, true]);
  });
});

it("a project is made for an organization that the person belongs to, and for no other", () => {
  ana.post("/app/projects", { name: "of-shop", owner: "org-shop" });
  const rows = rowsIn(ana.get("/app/projects?search=of-shop"));
  expect(rows.map(([name, , owner]) => [name, owner])).toEqual([["of-shop", "Shop"]]);
  const refused = ana.post("/app/projects", { name: "x", owner: "org-other" });
  expect([refused.status, problemIn(refused)]).toEqual([404, expect.stringContaining("not found")]);
});
