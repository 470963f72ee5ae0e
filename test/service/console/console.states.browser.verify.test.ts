import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { StatementFailed } from "../../../src/service/domain/queries.ts";
import { refusals } from "../../../src/service/refusal.ts";
import { keys, main, preview, primary, project, Shop } from "../support/shop.ts";
import { violations } from "./axe.ts";
import { signatureOf } from "./signature.ts";
import { Site } from "./site.ts";

const projectPath = `/app/projects/${project}`;
const branch = `${projectPath}/branches/${main}`;
const compute = `${branch}/computes/${primary}`;

/** Every width in one of the colour schemes; the other ones are tried on every page elsewhere. */
const looks = [
  { width: 390, colorScheme: "dark" },
  { width: 834, colorScheme: "light" },
  { width: 1440, colorScheme: "dark" },
] as const;

interface Opened {
  shop: Shop;
  site: Site;
  page: Page;
}

/** A state of a page: how a person comes to it, and words that it then has. */
interface State {
  name: string;
  words: string;
  account?: string;
  prepare?: (shop: Shop) => void;
  open(opened: Opened): Promise<unknown>;
}

/** Opens a path. */
const at =
  (path: string) =>
  ({ page, site }: Opened) =>
    page.goto(`${site.address}${path}`);

/** Sends a statement that the service answers with this. */
function asks(
  answer: () => Promise<never> | Promise<{ columns: string[]; rows: string[][]; more: boolean; tag: string }>,
) {
  return async (opened: Opened) => {
    opened.shop.core.context.queries = { run: answer };
    await at(`${branch}/query`)(opened);
    await opened.page.getByLabel("Statement").fill("SELECT 1");
    await opened.page.getByRole("button", { name: "Run" }).click();
    await opened.page.locator(".problem, section h2").first().waitFor();
  };
}

const forty = Array.from({ length: 40 }, (_, index) => ({ name: `db_${index}`, owner: "app" }));

/** Puts 10,000 operations in the project. */
function manyOperations(shop: Shop): void {
  shop.active();
  shop.core.change(({ store }) => {
    const [operation] = store.operations.page(project, { beforeSeq: undefined, limit: 1 });
    if (!operation) throw new Error("there is no operation");
    const { seq: _, ...first } = operation;
    for (let index = 0; index < 10_000; index += 1)
      store.operations.insert({ ...first, id: `x${index}`, chain: undefined });
  });
}

function failOne(shop: Shop): void {
  const { operations } = shop.write(`POST /projects/${project}/endpoints/${primary}/start`);
  const error = `FATAL:  could not write lock file "postmaster.pid": No space left on device ${"x".repeat(200)}`;
  shop.core.change(({ store }) => store.operations.forceFailure(operations[0]?.id ?? "", error));
  shop.finishOperations();
}

const states: readonly State[] = [
  {
    name: "an account without a project",
    words: "There are no projects yet",
    account: "new@example.com",
    open: at("/"),
  },
  {
    name: "an account without a compute",
    words: "There are no computes yet",
    account: "new@example.com",
    open: at("/app/computes"),
  },
  { name: "an account without a key", words: "None yet", account: "new@example.com", open: at("/app/keys") },
  {
    name: "a branch without a compute",
    words: "This branch has no computes",
    open: at(`${projectPath}/branches/${preview}`),
  },
  { name: "a search that finds no compute", words: "No compute has", open: at("/app/computes?search=nothing") },
  {
    name: "a search that finds no operation",
    words: "None like this",
    open: at(`${projectPath}/operations?search=nothing`),
  },
  {
    name: "a branch with forty databases",
    words: "db_39",
    open: at("/app/projects/forty/branches/br-forty/roles"),
  },
  {
    name: "a compute with forty databases to connect to",
    words: "db_39",
    open: at("/app/projects/forty/branches/br-forty/computes/ep-forty"),
  },
  {
    name: "10,000 operations",
    words: "10001 operations",
    prepare: manyOperations,
    open: at(`${projectPath}/operations?page=200`),
  },
  { name: "a failed operation on the first page", words: "No space left on device", prepare: failOne, open: at("/") },
  { name: "a failed operation of a compute", words: "Its last operation failed", prepare: failOne, open: at(compute) },
  {
    name: "a disabled compute",
    words: "It is disabled",
    prepare: (shop) => shop.patch(primary, { disabled: true }),
    open: at(compute),
  },
  {
    name: "a compute of an operator",
    words: "Kept by Compute",
    prepare: (shop) => shop.patch(primary, { name: signatureOf("previews", "shop/db") }),
    open: at(compute),
  },
  {
    name: "a password that is shown",
    words: "Hide the password",
    open: at(`${compute}?password=shown&for=prisma&pooled=true`),
  },
  {
    name: "a project of somebody else",
    words: "It may have been deleted, or it belongs to somebody else",
    open: at("/app/projects/eve-own"),
  },
  { name: "a branch of somebody else", words: "Project not found", open: at("/app/projects/eve-own/branches/br-eve") },
  {
    name: "a compute of another project",
    words: "Compute not found",
    open: at(`/app/projects/shop-two/branches/br-two/computes/${primary}`),
  },
  {
    name: "a query that failed",
    words: "Syntax error",
    open: asks(() => Promise.reject(new StatementFailed("syntax error", true))),
  },
  {
    name: "a fifth query",
    words: "Wait for one",
    open: asks(() => Promise.reject(refusals.tooManyRequests("wait for one", 1))),
  },
  {
    name: "a wide and long answer",
    words: "The first 200 rows",
    open: asks(() => {
      const columns = Array.from({ length: 12 }, (_, index) => `column_${index}`);
      const rows = Array.from({ length: 200 }, () => columns.map(() => "x".repeat(40)));
      return Promise.resolve({ columns, rows, more: true, tag: "" });
    }),
  },
  {
    name: "a new key",
    words: "it is not shown again",
    open: async (opened) => {
      await at("/app/keys")(opened);
      const create = opened.page.getByRole("form", { name: "New personal key" });
      await create.getByLabel("Name").fill("desk");
      await create.getByRole("button").click();
    },
  },
  {
    name: "a size that is refused",
    words: "The minimum of 2 CU is larger",
    open: async (opened) => {
      await at(compute)(opened);
      const form = opened.page.getByRole("form", { name: `Change ${primary}` });
      await form.getByLabel("From").selectOption("2");
      await form.getByRole("button").click();
    },
  },
  {
    name: "an open fold before a deletion",
    words: "for good",
    open: async (opened) => {
      await at(compute)(opened);
      await opened.page.getByText("Delete…").click();
    },
  },
  {
    name: "the page after signing out",
    words: "As an account of this machine",
    open: async (opened) => {
      await at("/")(opened);
      await opened.page.getByRole("button", { name: "Sign out" }).click();
    },
  },
  {
    name: "a form after the end of the session",
    words: "Nothing was changed",
    open: async (opened) => {
      // The page's stream is not answered: refused without the cookie, it would show the end before the click.
      await opened.page.route("**/app/changes", () => undefined);
      await at(compute)(opened);
      await opened.page.context().clearCookies();
      await opened.page.getByRole("button", { name: "Start", exact: true }).click();
    },
  },
  ...[
    ["an organization's key", keys.shop],
    ["a key of one project", keys.scoped],
  ].map(([name = "", key = ""]) => ({
    name: `signing in with ${name}`,
    words: "This key speaks for no person",
    open: async (opened: Opened) => {
      await at("/")(opened);
      await opened.page.getByRole("button", { name: "Sign out" }).click();
      await opened.page.getByLabel("Personal API key").fill(key);
      await opened.page.getByRole("button", { name: "Sign in", exact: true }).click();
    },
  })),
  { name: "a viewer's project", words: "shop", account: "vic@example.com", open: at(projectPath) },
  { name: "a viewer's keys", words: "You are a viewer", account: "vic@example.com", open: at("/app/keys") },
];

/** The shop with an account that has nothing, a viewer, and a branch with forty databases. */
function shopOf({ prepare }: State): Shop {
  const shop = new Shop();
  shop.applySeed({
    accounts: [
      { id: "acc-new", email: "new@example.com" },
      { id: "acc-vic", email: "vic@example.com" },
    ],
    projects: [
      {
        id: "forty",
        owner: "acc-ana",
        branches: [{ id: "br-forty", name: "main", roles: ["app"], databases: forty }],
        endpoints: [{ id: "ep-forty", branchID: "br-forty", type: "read_write" }],
      },
    ],
  });
  shop.core.change(({ store }, joinedAt) =>
    store.accounts.putMember({ organizationId: "org-shop", accountId: "acc-vic", role: "viewer", joinedAt }),
  );
  prepare?.(shop);
  return shop;
}

it.each(states)("$name breaks no rule of accessibility, and fits three widths", async (state) => {
  const shop = shopOf(state);
  await using site = await Site.open(shop);
  const { page } = site;
  await page.goto(site.address);
  await page.getByRole("button", { name: state.account ?? "ana@example.com" }).click();
  await page.getByRole("heading", { level: 1 }).waitFor();
  await state.open({ shop, site, page });
  await page.getByText(state.words).first().waitFor({ state: "attached" });
  for (const { width, colorScheme } of looks) {
    await page.setViewportSize({ width, height: 900 });
    await page.emulateMedia({ colorScheme });
    expect([width, await violations(page)]).toEqual([width, []]);
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(width);
  }
});

it("every name and text that a tenant chooses stays text on every page, in a real browser", async () => {
  const attack = `"'><img src=x onerror=alert(1)><script>alert(2)</script>\u202e`;
  // Names of roles and databases have at most 63 bytes.
  const short = `"'><img src=x onerror=alert(1)><script>alert(2)</script>`;
  const shop = new Shop();
  shop.applySeed({
    accounts: [{ id: "acc-mal", email: "mal@example.com", name: attack, plan: "scale" }],
    organizations: [
      {
        id: "org-mal",
        name: attack,
        members: [{ account: "acc-mal", role: "admin" }],
        apiKeys: [{ name: attack.slice(0, 64), key: "k" }],
      },
    ],
    projects: [
      {
        id: "mal",
        name: attack,
        owner: "org-mal",
        branches: [{ id: "br-mal", name: attack, roles: [short], databases: [{ name: short, owner: short }] }],
        endpoints: [{ id: "ep-mal", branchID: "br-mal", type: "read_write" }],
      },
    ],
  });
  shop.core.change(({ store }, now) => {
    const [made] = store.branches.list("mal");
    const [endpoint] = store.endpoints.list("mal");
    if (!made || !endpoint) throw new Error("the seed lacks something");
    const annotations = {
      "compute-operator.dev/uid": attack,
      "compute-operator.dev/fleet": attack,
      "compute-operator.dev/object": attack,
      [attack]: attack,
    };
    store.branches.update({ ...made, expiresAt: now + 3_600_000, details: { ...made.details, annotations } }, now);
    store.endpoints.update({ ...endpoint, name: attack });
  });
  shop.core.context.queries = {
    run: () => Promise.resolve({ columns: [attack], rows: [[attack]], more: false, tag: attack }),
  };
  await using site = await Site.open(shop);
  const { page } = site;
  const dialogs: string[] = [];
  page.on("dialog", (dialog) => {
    dialogs.push(dialog.message());
    void dialog.dismiss();
  });
  await page.goto(site.address);
  await page.getByRole("button", { name: "mal@example.com" }).click();
  await page.getByRole("heading", { level: 1 }).waitFor();
  const mal = "/app/projects/mal";
  const here = `${mal}/branches/br-mal`;
  await page.goto(`${site.address}${here}/computes/ep-mal`);
  await page.getByRole("button", { name: "Start", exact: true }).click();
  await page.getByText("is starting").waitFor();
  shop.core.change(({ store }) => {
    const [operation] = store.operations.page("mal", { beforeSeq: undefined, limit: 1 });
    store.operations.forceFailure(operation?.id ?? "", attack);
  });
  shop.finishOperations();
  shop.core.settle();
  const search = new URLSearchParams({
    search: attack,
    state: attack,
    sort: attack,
    role: attack,
    for: attack,
  }).toString();
  const paths = [
    "/",
    "/app/projects",
    "/app/computes",
    "/app/keys",
    mal,
    `${mal}/operations`,
    here,
    `${here}/roles`,
    `${here}/query`,
    `${here}/computes/ep-mal`,
  ];
  for (const path of paths.flatMap((one) => [one, `${one}?${search}`])) {
    await page.goto(`${site.address}${path}`);
    const found = await page.evaluate(
      `[document.querySelectorAll("img, iframe, main script, [onerror], [href^='javascript']").length, document.scripts.length]`,
    );
    expect([path, found]).toEqual([path, [0, 1]]);
  }
  await page.goto(`${site.address}${here}/query`);
  await page.getByLabel("Statement").fill(attack);
  await page.getByRole("button", { name: "Run" }).click();
  await page.getByRole("cell").waitFor();
  expect([await page.getByRole("cell").textContent(), dialogs, site.complaints]).toEqual([attack, [], []]);
});
