import { beforeEach, describe, expect, it, vi } from "vitest";
import { main, preview, primary, project, Shop, staging } from "../support/shop.ts";
import { problemIn, rowsIn, textOf, Visitor } from "./visitor.ts";

const projectPath = `/app/projects/${project}`;
const pathOf = (id: string) => `${projectPath}/branches/${id}`;
const apiPath = `/projects/${project}/branches`;

const note = {
  "compute-operator.dev/uid": "0b3c4d5e-11aa-4bbb-8ccc-0123456789ab",
  "compute-operator.dev/fleet": "one",
  "compute-operator.dev/object": "shop/pr-42",
};

let shop: Shop;
let ana: Visitor;
beforeEach(() => {
  shop = new Shop();
  ana = new Visitor(shop.core).signIn("acc-ana");
});

/** Makes the branch `pr-42` of main with its primary compute; answers its id. */
function made(annotation_value: object = {}, branch: object = {}): string {
  shop.ana(`POST ${apiPath}`, {
    branch: { name: "pr-42", ...branch },
    endpoints: [{ type: "read_write" }],
    annotation_value,
  });
  shop.finishOperations();
  return shop.core.context.store.branches.list(project).find(({ name }) => name === "pr-42")?.id ?? "";
}

/** What the page of a branch says of it, by name. */
function factsOf(id: string): Record<string, string> {
  const seen = ana.get(pathOf(id));
  const pairs = [...seen.html.matchAll(/<dt>(.*?)<\/dt><dd>(.*?)<\/dd>/gs)];
  return Object.fromEntries(
    pairs.map(([, name = "", value = ""]) => [textOf({ ...seen, html: name }), textOf({ ...seen, html: value })]),
  );
}

const later = (ms: number) => new Date(shop.time.now() + ms).toISOString();

it("the page of a project names the plan of its owner, and not that of the person", () => {
  expect(textOf(new Visitor(shop.core).signIn("acc-bob").get(projectPath))).toContain("scale plan");
});

describe("the page of a branch", () => {
  it("the link of a compute that changes leads to the same part of the page", () => {
    shop.write(`POST /projects/${project}/endpoints/${primary}/start`);
    expect(ana.get(`${pathOf(main)}?sort=used`).html).toContain(`href="${pathOf(main)}?sort=used#${primary}"`);
  });

  it("says where the branch comes from, when it was made, and that it has no end", () => {
    const id = made();
    expect(factsOf(id)).toEqual({ Parent: "main", Made: "2026-01-01 00:00 UTC just now", Ends: "never" });
    expect(factsOf(main)["Parent"]).toBe("none");
    expect(textOf(ana.get(pathOf(id)))).not.toContain("Kept by");
  });

  it("names the operator that made the branch, its fleet and its object, and warns", () => {
    const id = made(note);
    const seen = ana.get(pathOf(id));
    const page = textOf(seen);
    expect(page).toContain("Kept by Branch shop/pr-42 , fleet one .");
    expect(seen.html).toContain('href="/app/computes?search=shop%2Fpr-42"');
    expect(page).toContain("Change or delete its Branch manifest instead");
    expect(page).toContain("Its operator will report it as lost");
    const row = () => rowsIn(ana.get(`${projectPath}?search=shop/pr`));
    expect(row()).toEqual([["pr-42", id, "1 compute, 1 active", "0 CU hours", "", "Branch shop/pr-42 , fleet one"]]);
  });

  it("names an operator by the uid where its note says no more", () => {
    const id = made({ "compute-operator.dev/uid": "0b3c" });
    expect(textOf(ana.get(pathOf(id)))).toContain("Kept by Branch with uid 0b3c .");
    expect(factsOf(id)["Made"]).toBe("2026-01-01 00:00 UTC just now");
  });

  it("shows what somebody else noted, as text", () => {
    const id = made({ "github-commit-ref": "<b>topic</b>" });
    expect(factsOf(id)).toMatchObject({ "github-commit-ref": "<b>topic</b>" });
    expect(ana.get(pathOf(id)).html).not.toContain("<b>topic");
  });

  it("shows when the branch ends, here and in the list of branches", () => {
    const id = made({}, { expires_at: later(3 * 86_400_000 + 60_000) });
    expect(factsOf(id)["Ends"]).toBe("2026-01-04 00:01 UTC , in 3 days");
    expect(textOf(ana.get(projectPath))).toContain("0 CU hours in 3 days");
  });

  it("shows the operations of the branch and its computes, the newest first, and no others", () => {
    const id = made();
    shop.write(`POST /projects/${project}/endpoints/ep-shop-primary/start`);
    const rows = [...ana.get(pathOf(id)).html.matchAll(/<th scope="row">([a-z ]+)<\/th>\s*<td>(\w+)/g)];
    expect(rows.map(([, action, status]) => [action, status])).toEqual([
      ["start compute", "finished"],
      ["create branch", "finished"],
    ]);
  });

  it("shows the time or the position of the parent that the branch began at", () => {
    const time = made({}, { parent_timestamp: "2026-01-01T00:00:00Z" });
    expect(factsOf(time)["Parent"]).toBe("main as of 2026-01-01T00:00:00.000Z");
    shop.ana(`DELETE ${apiPath}/${time}`);
    expect(factsOf(made({}, { parent_lsn: "0/1E19478" }))["Parent"]).toBe("main at 0/1E19478");
    shop.ana(`POST ${apiPath}`, { branch: { name: "bare", init_source: "schema-only" } });
    const bare = shop.core.context.store.branches.list(project).find(({ name }) => name === "bare");
    expect(factsOf(bare?.id ?? "")["Parent"]).toBe("none, schema only");
  });
});

it("the branches of a project are shown page by page, and 400 are offered as parents", () => {
  const branches = Array.from({ length: 501 }, (_, index) => ({ id: `br-wide-${index}`, name: `b${index}` }));
  shop.applySeed({ projects: [{ id: "wide", owner: "acc-ana", branches }] });
  const first = ana.get("/app/projects/wide");
  expect([rowsIn(first).length, rowsIn(first)[0]?.[1]]).toEqual([50, "br-wide-0"]);
  expect(textOf(first)).toContain("Page 1 of 11, 501 branches Next");
  expect([...first.html.matchAll(/<option value="br-/g)]).toHaveLength(400);
  const last = ana.get("/app/projects/wide?page=11");
  expect(rowsIn(last).map(([, id]) => id)).toEqual(["br-wide-500"]);
  expect(rowsIn(ana.get("/app/projects/wide?page=999999"))).toEqual(rowsIn(last));
});

it("a branch is given an end, and loses it again", () => {
  const id = made();
  expect(textOf(ana.post(`${pathOf(id)}/end`, { seconds: "86400" }))).toContain("The branch has a new end.");
  expect(factsOf(id)["Ends"]).toContain("in 1 day");
  expect(textOf(ana.post(`${pathOf(id)}/end`, { seconds: "" }))).toContain("The branch has no end any more.");
  expect(factsOf(id)["Ends"]).toBe("never");
});

it("a branch is given each end that its page offers", () => {
  const id = made();
  const [, offered = ""] = /<select name="seconds">(.*?)<\/select>/s.exec(ana.get(pathOf(id)).html) ?? [];
  const ends = [...offered.matchAll(/value="(\d+)"[^>]*>(.*?)<\/option>/g)];
  expect(ends.map(([, , words]) => words)).toEqual(["in 1 hour", "in 1 day", "in 7 days", "in 30 days"]);
  for (const [, seconds = "", words] of ends) {
    ana.post(`${pathOf(id)}/end`, { seconds });
    expect(factsOf(id)["Ends"]).toContain(words);
  }
});

it("a branch is given an end 30 days ahead, the latest there is, also between two seconds", () => {
  const id = made();
  shop.time.pass(1500 - (shop.time.now() % 1000));
  expect(textOf(ana.post(`${pathOf(id)}/end`, { seconds: "2592000" }))).toContain("The branch has a new end.");
});

it.each([
  ["nonsense", "The end must be a number of seconds from now"],
  ["9999999", "must be at most 30 days ahead"],
  ["-1", "must be a time in the future"],
])("a branch is not given an end of %s seconds, in words", (seconds, words) => {
  const id = made();
  const seen = ana.post(`${pathOf(id)}/end`, { seconds });
  expect([seen.status, problemIn(seen)]).toEqual([400, expect.stringContaining(words)]);
  expect(factsOf(id)["Ends"]).toBe("never");
});

it("a branch keeps its end where a form says nothing of one", () => {
  const id = made({}, { expires_at: later(3 * 86_400_000 + 60_000) });
  const seen = ana.post(`${pathOf(id)}/end`);
  expect([seen.status, problemIn(seen)]).toEqual([400, expect.stringContaining("must be a number of seconds")]);
  expect(factsOf(id)["Ends"]).toContain("in 3 days");
});

it.each([
  ["", { compute: "ep-none", shown: "1/1/0", max: "2" }, 404],
  ["/computes", { type: "read_write", size: "1" }, 409],
  ["/end", { seconds: "3600" }, 422],
  ["/reset", {}, 422],
  ["/delete", {}, 422],
])("what the form at %j of a branch asks for is refused on the page of the branch", (form, fields, status) => {
  ana.get(pathOf(main));
  const seen = ana.post(`${pathOf(main)}${form}`, fields);
  expect([seen.status, problemIn(seen) === "", seen.html.includes("<h1>main</h1>")]).toEqual([status, false, true]);
});

it("a branch shows the values that others than an operator have noted with it, whatever their names", () => {
  const id = made({ ...note, "ci/run": "42", stage: "<b>test</b>" });
  const { Parent: _, Made: __, Ends: ___, ...others } = factsOf(id);
  expect(others).toEqual({ "ci/run": "42", stage: "<b>test</b>" });
});

it("a branch is reset to its parent, and says when, also after a later change", () => {
  const id = made();
  shop.time.pass(60_000);
  expect(textOf(ana.post(`${pathOf(id)}/reset`))).toContain("The branch is reset to its parent.");
  expect(factsOf(id)["Last reset"]).toBe("2026-01-01 00:01 UTC just now");
  shop.time.pass(120_000);
  shop.ana(`PATCH ${apiPath}/${id}`, { branch: { name: "renamed" } });
  expect(factsOf(id)["Last reset"]).toBe("2026-01-01 00:01 UTC 2 minutes ago");
});

it("a branch whose parent is another one by now is not reset by a page that names the former", () => {
  const id = made();
  const named = /name="parent" value="([^"]+)"/.exec(ana.get(pathOf(id)).html)?.[1];
  expect(named).toBe(main);
  const resetAs = (parent: string) => ana.post(`${pathOf(id)}/reset`, { parent });
  const stale = resetAs(staging);
  expect([stale.status, problemIn(stale)]).toEqual([409, expect.stringContaining("has another parent by now")]);
  expect(textOf(resetAs(main))).toContain("The branch is reset to its parent.");
});

it("a branch says so while it is being made or reset", () => {
  const id = () => shop.core.context.store.branches.list(project).at(-1)?.id ?? "";
  shop.ana(`POST ${apiPath}`, { branch: { name: "pr-42" }, endpoints: [{ type: "read_write" }] });
  expect(factsOf(id())["Status"]).toBe("being made");
  shop.finishOperations();
  expect(factsOf(id())).not.toHaveProperty("Status");
  ana.post(`${pathOf(id())}/reset`);
  expect(factsOf(id())["Status"]).toBe("resetting");
});

it("a branch without a parent is not reset", () => {
  const seen = ana.post(`${pathOf(main)}/reset`);
  expect([seen.status, problemIn(seen)]).toEqual([422, expect.stringContaining("has no parent to be reset to")]);
});

it("a branch is offered only what may be done with it", () => {
  const offered = (id: string) =>
    ["end", "reset", "delete"].filter((verb) => ana.get(pathOf(id)).html.includes(`action="${pathOf(id)}/${verb}"`));
  expect(offered(main)).toEqual([]);
  expect(textOf(ana.get(pathOf(main)))).toContain("The default branch of a project stays");
  expect(offered(preview)).toEqual(["end", "reset", "delete"]);
  shop.ana(`PATCH ${apiPath}/${preview}`, { branch: { protected: true } });
  expect(offered(preview)).toEqual([]);
  shop.ana(`POST ${apiPath}`, { branch: { parent_id: staging } });
  expect(offered(staging)).toEqual([]);
  expect(textOf(ana.get(pathOf(staging)))).toContain("has child branches");
});

it("a branch is offered a reset alone as the default one, and all but a reset without a parent", () => {
  const offered = (id: string) =>
    ["end", "reset", "delete"].filter((verb) => ana.get(pathOf(id)).html.includes(`action="${pathOf(id)}/${verb}"`));
  shop.ana(`POST ${apiPath}/${preview}/set_as_default`);
  const child = made();
  shop.ana(`POST ${apiPath}/${child}/set_as_default`);
  expect(offered(child)).toEqual(["reset"]);
  shop.ana(`POST ${apiPath}`, { branch: { name: "bare", init_source: "schema-only" } });
  const bare = shop.core.context.store.branches.list(project).find(({ name }) => name === "bare")?.id ?? "";
  expect(offered(bare)).toEqual(["end", "delete"]);
});

it("a branch says since when its history is kept, and how large it is", () => {
  shop.time.pass(60_000);
  vi.spyOn(shop.core.context.backend, "history").mockReturnValue({
    since: shop.time.now(),
    position: 0n,
    bytes: 3.9 * 1024 ** 2,
  });
  shop.time.pass(60_000);
  expect(factsOf(preview)["History"]).toBe("since 2026-01-01 00:01 UTC 1 minute ago , 4 MiB");
});

it("a branch without computes or operations says so, in place of empty tables", () => {
  const seen = ana.get(pathOf(preview));
  expect(textOf(seen)).toContain("This branch has no computes: nobody can connect to it.");
  expect(textOf(seen)).toContain("Operations None yet.");
  expect(seen.html).not.toContain("<table");
});

it("a branch can be recovered after its deletion where the service keeps deleted branches, and says so", () => {
  const text = (branchRecovery: boolean) => {
    const own = new Shop({ branchRecovery });
    return textOf(new Visitor(own.core).signIn("acc-ana").get(pathOf(preview)));
  };
  expect(text(false)).toContain("Delete preview for good");
  expect(text(true)).toContain("and can be recovered for 7 days");
});

it("another account can neither end nor reset a branch", () => {
  const eve = new Visitor(shop.core).signIn("acc-eve");
  const id = made();
  expect(eve.post(`${pathOf(id)}/end`, { seconds: "3600" }).status).toBe(404);
  expect(eve.post(`${pathOf(id)}/reset`).status).toBe(404);
  expect(factsOf(id)).toEqual({ Parent: "main", Made: expect.any(String), Ends: "never" });
});
