import { beforeEach, expect, it } from "vitest";
import { keys, main, preview, primary, project, Shop, staging } from "../support/shop.ts";
import { problemIn, rowsIn, type Seen, textOf, Visitor } from "./visitor.ts";

const projectPath = `/app/projects/${project}`;
const branchPath = `${projectPath}/branches/${main}`;
const previewPath = `${projectPath}/branches/${preview}`;
const computePath = `${branchPath}/computes/${primary}`;

let shop: Shop;
let ana: Visitor;
beforeEach(() => {
  shop = new Shop();
  ana = new Visitor(shop.core).signIn("acc-ana");
});

const titleOf = ({ html }: Seen) => /<title>(.*?)<\/title>/.exec(html)?.[1];
const noticeOf = ({ html }: Seen) => /<p class="notice" role="status">(.*?)<\/p>/.exec(html)?.[1];

it.each([
  [branchPath, { compute: primary, shown: "1/1/0", max: "2" }, `${branchPath}?#${primary}`, "Scale to zero"],
  [`${branchPath}/computes`, { type: "read_only", size: "1" }, branchPath, "The compute is created and is starting."],
  [`${computePath}/start`, {}, computePath, `${primary} is starting.`],
  [`${computePath}/suspend`, {}, computePath, `${primary} is suspending: its connections were cut.`],
  [`${computePath}/restart`, {}, computePath, `${primary} is restarting: its connections were cut.`],
  [
    `${computePath}/move`,
    { to: preview },
    `${previewPath}/computes/${primary}`,
    `${primary} was moved here, and is idle.`,
  ],
  [`${computePath}/delete`, {}, branchPath, `${primary} is deleted.`],
  [`${projectPath}/branches`, { name: "feature", parent: main }, projectPath, "The branch is created."],
  [`${previewPath}/end`, { seconds: "3600" }, previewPath, "The branch has a new end."],
  [`${previewPath}/end`, { seconds: "" }, previewPath, "The branch has no end any more."],
  [`${previewPath}/reset`, {}, previewPath, "The branch is reset to its parent."],
  [`${previewPath}/delete`, {}, projectPath, "The branch is deleted with its computes."],
])("a form at %s with %j goes on to %s, which says once what was done", (path, fields, to, notice) => {
  if (path.endsWith("/suspend") || path.endsWith("/restart")) shop.active();
  const { status, headers } = ana.postOnly(path, fields);
  expect([status, headers["location"]]).toEqual([303, to]);
  const next = ana.get(to);
  expect([next.status, noticeOf(next)]).toEqual([200, expect.stringContaining(notice)]);
  expect(noticeOf(ana.get(to))).toBeUndefined();
});

it.each([
  ["/app/projects", {}, "/app/projects"],
  [`${projectPath}/branches`, { parent: main }, projectPath],
  ["/app/keys", {}, "/app/keys"],
])("a form at %s takes a name without the blanks around it", (path, fields, list) => {
  expect(ana.postOnly(path, { ...fields, name: "  named  " }).status).toBe(303);
  expect(ana.get(list).html).toMatch(/>named</);
});

it.each([
  [`${computePath}/move`, {}, 400, "must be an id"],
  [`${computePath}/move`, { to: "br-none-1" }, 404, "Branch not found."],
  [branchPath, { shown: "1/1/0", max: "2" }, 404, "not"],
  [branchPath, { compute: "ep-none-1", shown: "1/1/0", max: "2" }, 404, "Endpoint not found."],
  [`${branchPath}/computes/ep-none-1/start`, {}, 404, "not found."],
])(
  "a form at %s with %j, which names nothing that there is, is refused and changes nothing",
  (path, fields, status, words) => {
    const before = shop.get(primary);
    const seen = ana.post(path, fields);
    expect([seen.status, problemIn(seen)]).toEqual([status, expect.stringContaining(words)]);
    expect([shop.get(primary), shop.operations()]).toEqual([before, []]);
  },
);

it("signing out takes the cookie from the browser, and goes to the sign-in page", () => {
  const { status, headers } = ana.postOnly("/app/sign-out");
  expect([status, headers["location"], headers["cache-control"]]).toEqual([303, "/", "no-store"]);
  expect(headers["set-cookie"]).toBe("compute_console=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0");
  expect([titleOf(ana.get("/")), ana.get("/app/keys").status]).toEqual(["Sign in · Compute console", 401]);
});

it.each([
  ["/", "Home"],
  ["/app/projects", "Projects"],
  ["/app/computes", "Computes"],
  [projectPath, "shop"],
  [`${projectPath}/operations`, "Operations of shop"],
  [branchPath, "Computes of main"],
  [computePath, primary],
  ["/app/keys", "API keys"],
  ["/app/nowhere", "Refused: Nothing here"],
])("the page %s has the title %j, and the menu of the person", (path, title) => {
  const seen = ana.get(path);
  expect(titleOf(seen)).toBe(`${title} · Compute console`);
  expect(textOf(seen)).toMatch(
    /^Skip to the content Compute console Home Projects Computes API keys ana@example\.com Sign out /,
  );
});

it("a refused form stands on a page with the menu, whose forms can be sent again", () => {
  const refused = [
    ana.post(`${branchPath}/reset`),
    ana.post("/app/keys", { name: "" }),
    ana.post(branchPath, {}, { origin: "null" }),
    ana.post("/app/nowhere"),
  ];
  for (const seen of refused) {
    expect(titleOf(seen)).toMatch(/^Refused: /);
    expect(textOf(seen)).toContain("ana@example.com Sign out");
    expect(seen.html).toContain(`name="token" value="${ana.token}"`);
  }
  expect(ana.post("/app/keys", { name: "desk" }).status).toBe(200);
});

it("a page for nothing leads to all projects", () => {
  expect(ana.get("/app/nowhere").html).toContain('<p><a href="/app/projects">All projects</a></p>');
  expect(problemIn(ana.get("/app/nowhere"))).toBe(
    "Not found Page not found. It may have been deleted, or it belongs to somebody else.",
  );
});

it("a compute that does not exist is not found, nor is one of another project", () => {
  for (const path of [
    `${branchPath}/computes/ep-none-1`,
    `/app/projects/shop-two/branches/br-two/computes/${primary}`,
  ]) {
    const seen = ana.get(path);
    expect([seen.status, problemIn(seen)]).toEqual([404, expect.stringContaining("Compute not found.")]);
  }
});

it("a branch without a database has no connection string, and says so", () => {
  expect(shop.send(keys.ana, `DELETE /projects/${project}/branches/${main}/databases/neondb`).status).toBe(200);
  shop.finishOperations();
  const seen = ana.get(computePath);
  expect(textOf(seen)).toContain("This branch has no role or no database to connect with.");
  expect(seen.html).not.toContain("postgresql://");
});

it("a branch says why nothing can be done with it", () => {
  expect(textOf(ana.get(branchPath))).toContain("The default branch of a project stays: it cannot end or be deleted.");
  shop.ana(`PATCH /projects/${project}/branches/${preview}`, { branch: { protected: true } });
  expect(textOf(ana.get(previewPath))).toContain("The branch is protected: it cannot end, be reset or be deleted.");
  shop.ana(`POST /projects/${project}/branches`, { branch: { parent_id: staging } });
  expect(textOf(ana.get(`${projectPath}/branches/${staging}`))).toContain(
    "The branch has child branches: it cannot end, be reset or be deleted.",
  );
});

it("the search of computes shows what is in progress on each", () => {
  const status = () => rowsIn(ana.get("/app/computes?search=ep-shop"))[0]?.[4];
  expect(status()).toBe("Idle");
  shop.write(`POST /projects/${project}/endpoints/${primary}/start`);
  expect(status()).toBe("Idle starting…");
  shop.finishOperations();
  shop.write(`POST /projects/${project}/endpoints/${primary}/restart`);
  expect(status()).toMatch(/^Active .*…$/);
  shop.finishOperations();
  shop.write(`POST /projects/${project}/endpoints/${primary}/suspend`);
  expect(status()).toBe("Active suspending…");
});

it("the page of keys sends each form to its own list, and names it", () => {
  const forms = [
    ...ana.get("/app/keys").html.matchAll(/<form class="create"[^>]*action="([^"]+)"[^>]*aria-label="([^"]+)"/g),
  ];
  expect(forms.map(([, action, name]) => [action, name])).toEqual([
    ["/app/keys", "New personal key"],
    ["/app/organizations/org-shop/keys", "New key of Shop"],
  ]);
});
