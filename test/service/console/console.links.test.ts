import { beforeEach, expect, it } from "vitest";
import { main, preview, primary, project, Shop } from "../support/shop.ts";
import { type Seen, textOf, Visitor } from "./visitor.ts";

const shopPage = `/app/projects/${project}`;
const branch = `${shopPage}/branches/${main}`;
const compute = `${branch}/computes/${primary}`;
const trail = [
  ["Projects", "/app/projects"],
  ["shop", shopPage],
] as const;
const whole = [...trail, ["main", branch]] as const;

let shop: Shop;
let ana: Visitor;
beforeEach(() => {
  shop = new Shop({ branchRecovery: true });
  ana = new Visitor(shop.core).signIn("acc-ana");
});

/** The links of a page without those of the menu, or of one of its parts: the words of each, and where it leads. */
function linksIn(seen: Seen, part = "page"): [words: string, href: string][] {
  const html = new RegExp(`id="${part}".*`, "s").exec(seen.html)?.[0] ?? "";
  const end = part === "page" ? html.length : html.indexOf("</section>");
  return [...html.slice(0, end).matchAll(/<a [^>]*?href="([^"]*)"[^>]*>(.*?)<\/a>/gs)].map(
    ([, href = "", words = ""]) => [textOf({ ...seen, html: words }), href.replaceAll("&amp;", "&")],
  );
}

it.each([
  ["/", "Home"],
  [shopPage, "Projects"],
  [compute, "Projects"],
  [`${branch}/roles`, "Projects"],
  ["/app/computes", "Computes"],
  ["/app/keys", "API keys"],
])("the menu of %s marks %s as the place, and nothing else", (path, place) => {
  const { html } = ana.get(path);
  const menu = /<nav aria-label="Console">.*?<\/nav>/s.exec(html)?.[0] ?? "";
  expect([...menu.matchAll(/aria-current="page">([^<]*)</g)].map(([, words]) => words)).toEqual([place]);
});

it("the list of computes links each one, its project and its branch", () => {
  expect(linksIn(ana.get("/app/computes?search=shop-primary"))).toEqual([
    [primary, compute],
    ["shop", shopPage],
    ["main", branch],
  ]);
});

it("the page of a project links its operations and each of its branches", () => {
  expect(linksIn(ana.get(shopPage))).toEqual([
    trail[0],
    ["Operations", `${shopPage}/operations`],
    ["main", branch],
    ["preview", `${shopPage}/branches/${preview}`],
    ["staging", `${shopPage}/branches/br-staging-1`],
  ]);
});

it("the page of a branch links its project, its roles, its parent, its computes and those of its operations", () => {
  shop.active();
  const links = linksIn(ana.get(branch));
  expect(links).toEqual([...trail, ["Roles and databases", `${branch}/roles`], [primary, compute], [primary, compute]]);
  expect(linksIn(ana.get(`${shopPage}/branches/${preview}`))).toContainEqual(["main", branch]);
});

it("the page of a compute links its branch, and its operations as the search finds them", () => {
  shop.active();
  const seen = ana.get(compute);
  expect(linksIn(seen).slice(0, 3)).toEqual(whole);
  const all = `${shopPage}/operations?search=${primary}`;
  expect(linksIn(seen, "operations")).toEqual([
    [primary, compute],
    ["All operations of this compute", all],
  ]);
  expect(linksIn(ana.get(all))).toEqual([...trail, [primary, compute]]);
  expect(linksIn(ana.get(`${shopPage}/operations?search=ep-none`))).toEqual(trail);
});

it.each(["roles", "query"])("the page of a branch's %s leads back to the branch", (page) => {
  expect(linksIn(ana.get(`${branch}/${page}`))).toEqual(whole);
});

it("the ways to connect keep database, role, pooler and a password that is shown", () => {
  const chosen = "database=neondb&role=neondb_owner&pooled=true";
  const at = (query: string) => linksIn(ana.get(`${compute}?${query}`), "connect");
  const shown = at(`${chosen}&for=env&password=shown`);
  expect(shown[0]).toEqual(["Hide the password", `${compute}?${chosen}&for=env&password=#connect`]);
  expect(shown[1]).toEqual(["psql", `${compute}?${chosen}&for=psql&password=shown#connect`]);
  const hidden = at(`${chosen}&for=env`);
  expect(hidden[0]).toEqual(["Show the password", `${compute}?${chosen}&for=env&password=shown#connect`]);
  expect(hidden[1]).toEqual(["psql", `${compute}?${chosen}&for=psql#connect`]);
});

it("the home page links what ends soon, but for what was deleted since", () => {
  const expires_at = new Date(shop.time.now() + 86_400_000).toISOString();
  for (const id of [preview, "br-staging-1"]) {
    expect(shop.ana(`PATCH /projects/${project}/branches/${id}`, { branch: { expires_at } }).status).toBe(200);
  }
  expect(shop.ana(`DELETE /projects/${project}/branches/br-staging-1`).status).toBe(200);
  expect(linksIn(ana.get("/"), "ending")).toEqual([
    ["preview", `${shopPage}/branches/${preview}`],
    ["shop", shopPage],
  ]);
});

/** Where the links, forms and buttons of a page lead that a browser has at this path. */
function addressesIn({ html }: Seen, path: string): string[] {
  const found = [...html.matchAll(/ (?:href|action|data-from)="([^#"][^"]*|)"/g)].map(([, address = ""]) => address);
  return found.map((address) => new URL(address.replaceAll("&amp;", "&"), `http://service${path}`).href);
}

it.each([
  ["/app/projects", { owner: "org-none" }, "/app/projects"],
  [`${shopPage}/branches`, { name: "main" }, shopPage],
  [branch, { compute: primary, shown: "1/1/0", min: "8" }, branch],
  [`${branch}/computes`, { type: "read_write", size: "1" }, branch],
  [`${branch}/end`, { seconds: "3600" }, branch],
  [`${branch}/delete`, {}, branch],
  [`${compute}/restart`, {}, compute],
  [`${compute}/delete`, {}, compute],
  [`${branch}/roles/reset`, { name: "none" }, `${branch}/roles`],
  [`${branch}/databases`, { name: "neondb" }, `${branch}/roles`],
  ["/app/organizations/org-shop/keys", { name: "" }, "/app/keys"],
])(
  "a page that says why the form at %s with %j was refused leads where it does at %s, and sends it no more",
  (form, fields, path) => {
    shop.write(`POST /projects/${project}/endpoints/${primary}/start`);
    const refused = ana.post(form, fields);
    expect(refused.status).toBeGreaterThanOrEqual(400);
    expect(addressesIn(refused, form)).toEqual(addressesIn(ana.get(path), path));
  },
);
