import { beforeEach, describe, expect, it } from "vitest";
import { keys, main, preview, primary, project, Shop } from "../support/shop.ts";
import { signatureOf } from "./signature.ts";
import { rowsIn, textOf, Visitor } from "./visitor.ts";

const uid = "0d0c4b5e-11aa-4bbb-8ccc-0123456789ab";

let shop: Shop;
let ana: Visitor;
beforeEach(() => {
  shop = new Shop();
  ana = new Visitor(shop.core).signIn("acc-ana");
});

/** The ids of the computes that a search finds. */
function found(search: string, visitor = ana): string[] {
  const seen = visitor.get(`/app/computes?${new URLSearchParams({ search }).toString()}`);
  return rowsIn(seen).map(([id = ""]) => id.split(" ")[0] ?? "");
}

describe("the search of computes", () => {
  it("lists all that the account reaches, with project, branch, type, status, size and last activity", () => {
    shop.create({ branch_id: preview, type: "read_only", autoscaling_limit_max_cu: 2, name: "reports" });
    shop.finishOperations();
    const rows = rowsIn(ana.get("/app/computes"));
    expect(rows.map(([, name = ""]) => name).toSorted()).toEqual(["ana-own", "shop", "shop", "shop-two"]);
    expect(rows.filter(([, name]) => name === "shop")).toEqual([
      [primary, "shop", "main", "Primary", "Idle", "1 vCPU", "0 CU hours", "never"],
      [
        expect.stringMatching(/^ep-\S+ reports$/),
        "shop",
        "preview",
        "Read Replica",
        "Active",
        "1–2 vCPU",
        "0 CU hours",
        "2026-01-01 00:00 UTC just now",
      ],
    ]);
  });

  it.each([
    ["SHOP-prim", [primary]],
    ["repo", ["ep-reports"]],
    ["Preview", ["ep-reports"]],
    [preview, ["ep-reports"]],
    ["nobody-has-this", []],
    ["%", []],
  ])("finds %s in id, name or branch", (search, ids) => {
    const { endpoint } = shop.create({ branch_id: preview, type: "read_only", name: "Reports" });
    expect(found(search).map((id) => (id === endpoint.id ? "ep-reports" : id))).toEqual(ids);
  });

  it.each([
    ["without a fleet", `k8s-${uid}`],
    ["of a fleet", `k8s-89abcdef-0123456789abcdef-${uid.replaceAll("-", "")}`],
  ])("finds the compute of an operator %s by the uid of its object", (_, name) => {
    shop.patch(primary, { name });
    expect(found(uid)).toEqual([primary]);
    expect(found("0d0c4b5e-11aa-4bbb-8ccc-0123456789ac")).toEqual([]);
  });

  it("finds the computes of a Compute or a fleet by its name, which the signature has as a digest, and shows it", () => {
    shop.patch(primary, { name: signatureOf("previews", "shop/db") });
    expect([found("shop/db"), found("previews"), found("shop/d"), found("preview")]).toEqual([
      [primary],
      [primary],
      [],
      [],
    ]);
    const [row] = rowsIn(ana.get("/app/computes?search=shop/db"));
    expect(row?.[0]).toContain("kept by Compute shop/db , fleet");
    expect(rowsIn(ana.get("/app/computes?search=previews"))[0]?.[0]).toContain(", fleet previews");
  });

  it("finds the computes of a Branch that the note of the branch names, by its name or its uid", () => {
    const annotation_value = { "compute-operator.dev/uid": uid, "compute-operator.dev/object": "shop/pr-42" };
    shop.ana(`POST /projects/${project}/branches`, { endpoints: [{ type: "read_write" }], annotation_value });
    expect([found("shop/pr-42").length, found(uid).length, found("shop/pr-4"), found("pr-42")]).toEqual([1, 1, [], []]);
    expect(found("shop/pr-42", new Visitor(shop.core).signIn("acc-eve"))).toEqual([]);
  });

  it("finds nothing of somebody else's, deleted or not", () => {
    expect(found("ep-shop", new Visitor(shop.core).signIn("acc-eve"))).toEqual([]);
    expect(found("ep-shop", new Visitor(shop.core).signIn("acc-bob"))).toEqual([primary]);
    shop.write(`DELETE /projects/${project}/endpoints/${primary}`);
    expect(found("ep-shop")).toEqual([]);
    expect(textOf(ana.get("/app/computes?search=ep-shop"))).toContain("No compute has ep-shop in its id");
  });

  it("takes the first 256 characters of what is searched for, without the spaces around it", () => {
    expect(found("  ep-shop-prim \t")).toEqual([primary]);
    const box = (path: string) => /id="search"[^>]* value="([^"]*)"/.exec(ana.get(path).html)?.[1];
    expect(box(`/app/computes?search=${"a".repeat(300)}`)).toBe("a".repeat(256));
    expect(box(`/app/projects?search=${"a".repeat(300)}`)).toBe("a".repeat(256));
  });

  it("says in what it found nothing, and that there is nothing yet where nothing was searched for", () => {
    shop.applySeed({ accounts: [{ id: "acc-new", email: "new@example.com" }] });
    const visitor = new Visitor(shop.core).signIn("acc-new");
    expect(textOf(visitor.get("/app/computes"))).toContain("There are no computes yet");
    expect(textOf(visitor.get("/app/computes?search=x"))).toContain("No compute has x in its id");
    expect(textOf(visitor.get("/app/projects"))).toContain("There are no projects yet: make one below.");
    expect(textOf(visitor.get("/app/projects?search=x"))).toContain("No project has x in its name or id.");
  });

  it("shows the status of a compute in a class of its own name, which gives it its colour", () => {
    const shownAs = () =>
      /<tr id="ep-shop-primary".*?class="status (\w+)">(\w+)</s.exec(ana.get("/app/computes").html)?.slice(1);
    expect(shownAs()).toEqual(["idle", "Idle"]);
    shop.active();
    expect(shownAs()).toEqual(["active", "Active"]);
  });

  it("goes on page by page", () => {
    const endpoints = Array.from({ length: 60 }, () => ({ branchID: "br-wide", type: "read_only" as const }));
    shop.applySeed({
      projects: [{ id: "wide", owner: "acc-ana", branches: [{ id: "br-wide", name: "wide" }], endpoints }],
    });
    const first = ana.get("/app/computes?search=wide");
    const next = /href="([^"]*\?search=wide&amp;page=2)"/.exec(first.html)?.[1]?.replace("&amp;", "&");
    expect([rowsIn(first).length, rowsIn(ana.get(next ?? "")).length]).toEqual([50, 10]);
  });

  it("offers no further page where the first one has all", () => {
    const endpoints = Array.from({ length: 50 }, () => ({ branchID: "br-wide", type: "read_only" as const }));
    shop.applySeed({
      projects: [{ id: "wide", owner: "acc-ana", branches: [{ id: "br-wide", name: "wide" }], endpoints }],
    });
    const only = ana.get("/app/computes?search=wide");
    expect([rowsIn(only).length, textOf(only)]).toEqual([50, expect.not.stringContaining("Next")]);
  });

  it("the search is a place of its own in the menu", () => {
    const here = (path: string) => /<a href="([^"]+)" aria-current="page"/.exec(ana.get(path).html)?.[1];
    const places = ["/", "/app/projects", "/app/computes", "/app/keys"];
    expect(places.map(here)).toEqual(places);
  });
});

describe("a compute that an operator has adopted", () => {
  const branchPath = `/app/projects/${project}/branches/${main}`;
  const change = (agent: string, max: number) =>
    shop.core.call({
      method: "PATCH",
      path: `/api/v2/projects/${project}/endpoints/${primary}`,
      headers: { authorization: `Bearer ${keys.ana}`, "user-agent": agent },
      body: JSON.stringify({ endpoint: { autoscaling_limit_max_cu: max } }),
    });

  it("says so from the first change by the operator on, on every page that shows the compute", () => {
    change("curl/8.5.0", 2);
    expect(textOf(ana.get(branchPath))).not.toContain("by an operator");
    shop.finishOperations();
    expect(change("compute-operator", 4).status).toBe(200);
    shop.time.pass(120_000);
    const words = "changed by an operator 2 minutes ago, which may put changes back";
    expect(rowsIn(ana.get(branchPath))[0]?.[2]).toBe(`${primary} ${words}`);
    expect(rowsIn(ana.get("/app/computes?search=ep-shop"))[0]?.[0]).toBe(`${primary} ${words}`);
    const page = textOf(ana.get(`${branchPath}/computes/${primary}`));
    expect(page).toContain("Changed by an operator 2 minutes ago.");
    expect(page).toContain("change its Compute manifest instead");
  });

  it("says so also where the operator's change sets no operation off", () => {
    expect(change("compute-operator", 1).status).toBe(200);
    expect(shop.operations()).toEqual([]);
    expect(textOf(ana.get(branchPath))).toContain("changed by an operator");
  });

  it("does not say so for a change that was refused", () => {
    expect(change("compute-operator", 17).status).toBe(400);
    expect(textOf(ana.get(branchPath))).not.toContain("by an operator");
  });

  it("the mark of adoption is forgotten with the compute", () => {
    change("compute-operator", 2);
    const { endpoints } = shop.core.context.store;
    expect(endpoints.changedByOperator(primary)).toBe(shop.time.now());
    shop.finishOperations();
    shop.write(`DELETE /projects/${project}/endpoints/${primary}`);
    expect(endpoints.changedByOperator(primary)).toBeUndefined();
  });
});

it("every search finds a name in any case, also with letters beyond ASCII", () => {
  const name = "ÄPFEL und Öl";
  shop.ana(`PATCH /projects/${project}`, { project: { name } });
  shop.ana(`PATCH /projects/${project}/branches/${main}`, { branch: { name } });
  shop.ana("POST /api_keys", { key_name: name });
  shop.patch(primary, { name });
  const query = `?${new URLSearchParams({ search: "äpfel UND öl" }).toString()}`;
  const pages = ["/app/computes", "/app/projects", `/app/projects/${project}`, "/app/keys"].map((path) =>
    ana.get(`${path}${query}`),
  );
  expect(pages.map((page) => rowsIn(page).length)).toEqual([1, 1, 1, 1]);
  const lists = [
    shop.ana(`GET /projects${query}`).body["projects"],
    shop.ana(`GET /projects/${project}/branches${query}`).body["branches"],
  ];
  expect(lists).toMatchObject([[{ name }], [{ name }]]);
});
