import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { main, primary, project, Shop } from "../support/shop.ts";
import { Site } from "./site.ts";

it("a person with nothing but a keyboard signs in, resizes a compute, and creates and revokes a key", async () => {
  const shop = new Shop();
  await using site = await Site.open(shop);
  const { page } = site;
  const { keyboard } = page;

  await page.goto(site.address);
  await site.enter(page.getByRole("button", { name: "ana@example.com" }));
  await site.enter(page.getByRole("link", { name: "Projects" }));
  await site.enter(page.getByRole("link", { name: "shop", exact: true }));
  await site.enter(page.getByRole("link", { name: "main", exact: true }));

  const form = page.getByRole("form", { name: `Change ${primary}` });
  await site.tabTo(form.getByLabel("From"));
  await keyboard.press("ArrowDown");
  await site.enter(form.getByRole("button"));
  expect(await page.getByRole("alert").textContent()).toContain(
    "The minimum of 2 CU is larger than the maximum of 1 CU.",
  );
  expect(shop.get(primary).autoscaling_limit_min_cu).toBe(1);

  expect(await form.getByLabel("From").inputValue()).toBe("2");
  await site.tabTo(form.getByLabel("From"));
  await keyboard.press("ArrowUp");
  await site.tabTo(form.getByLabel("to", { exact: true }));
  await keyboard.press("ArrowDown");
  await site.tabTo(form.getByLabel("Scale to zero"));
  await keyboard.press("End");
  await site.enter(form.getByRole("button"));
  const reported = await page.getByRole("status").textContent();
  expect(reported).toBe(`${primary} has 1–2 vCPU. Scale to zero: off.`);
  expect(shop.get(primary)).toMatchObject({ autoscaling_limit_max_cu: 2, suspend_timeout_seconds: -1 });

  await site.enter(page.getByRole("link", { name: "API keys" }));
  const create = page.getByRole("form", { name: "New personal key" });
  await site.tabTo(create.getByLabel("Name"));
  await keyboard.type("desk <b>");
  await keyboard.press("Enter");
  const secret = await page.getByLabel("The secret of desk <b>").inputValue();
  expect(shop.send(secret, "GET /auth").status).toBe(200);
  await page.reload();
  expect(await page.content()).not.toContain(secret);

  await site.tabTo(page.getByLabel("Revoke desk <b>", { exact: true }));
  await keyboard.press("Enter");
  await site.enter(page.getByRole("button", { name: "Revoke desk <b> for good" }));
  await page.getByText("The key is revoked").waitFor();
  expect(shop.send(secret, "GET /auth").status).toBe(401);

  await site.enter(page.getByRole("button", { name: "Sign out" }));
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  const refused = `/app/projects/${project}/branches/${main}?`;
  expect(site.complaints).toEqual([
    expect.stringContaining(`${refused}: Failed to load resource: the server responded with a status of 400`),
  ]);
});

/** The console's pages; `branch` is the path of a branch with the primary compute. */
function pagesOf(branch: string): string[] {
  const around = ["/", "/app/projects", "/app/computes", `/app/projects/${project}`, "/app/keys"];
  return [...around, branch, `${branch}/computes/${primary}`];
}

it("every page fits a telephone of 390 pixels, with nothing to be scrolled for sideways", async () => {
  const shop = new Shop();
  shop.patch(primary, { name: "k8s-89abcdef-0123456789abcdef-0123456789abcdef0123456789abcdef" });
  await using site = await Site.open(shop);
  const { page } = site;
  await page.setViewportSize({ width: 390, height: 844 });
  await page.goto(site.address);
  await page.getByRole("button", { name: "ana@example.com" }).click();
  const branch = `/app/projects/${project}/branches/${main}`;
  for (const path of pagesOf(branch)) {
    await page.goto(`${site.address}${path}`);
    expect([path, await page.evaluate("document.documentElement.scrollWidth")]).toEqual([path, 390]);
  }
  await page.goto(`${site.address}${branch}`);
  const save = await page.getByRole("button", { name: `Save ${primary}` }).boundingBox();
  expect((save?.x ?? 390) + (save?.width ?? 0)).toBeLessThanOrEqual(390);
});

it("a person connects, starts and moves a compute on its page", async () => {
  const shop = new Shop();
  await using site = await Site.open(shop);
  const { page } = site;
  await page.goto(site.address);
  await page.getByRole("button", { name: "ana@example.com" }).click();
  await page.goto(`${site.address}/app/projects/${project}/branches/${main}`);
  await page.getByRole("link", { name: primary }).click();
  await page.getByLabel("Pooled").check();
  await page.getByRole("button", { name: "Show", exact: true }).click();
  expect(await page.getByLabel("Connection string").inputValue()).toContain(`${primary}-pooler.`);
  await page.getByRole("button", { name: "Start", exact: true }).click();
  await page.getByText("is starting").waitFor();
  shop.finishOperations();
  await page.getByLabel("Move to").selectOption("preview");
  await page.getByRole("button", { name: "Move" }).click();
  await page.getByText("was moved here").waitFor();
  expect(shop.get(primary).branch_id).toBe("br-preview-1");
  expect(site.complaints).toEqual([]);
});

/** Ana's page of a path, and the shop and site that it is of. */
async function openAs(path: string): Promise<{ shop: Shop; site: Site; page: Page }> {
  const shop = new Shop();
  const site = await Site.open(shop);
  const { page } = site;
  await page.goto(site.address);
  await page.getByRole("button", { name: "ana@example.com" }).click();
  await page.goto(`${site.address}${path}`);
  return { shop, site, page };
}

const branchPath = `/app/projects/${project}/branches/${main}`;

it("a compute's status, size and moves are seen without loading the page again", async () => {
  const { shop, site, page } = await openAs(`${branchPath}/computes/${primary}`);
  await using _ = site;
  await page.evaluate("globalThis.sameDocument = true");
  const about = page.locator("#about");
  shop.write(`POST /projects/${project}/endpoints/${primary}/start`);
  await about.getByText("starting").waitFor();
  expect(await page.getByRole("link", { name: "Look again" }).isVisible()).toBe(false);
  shop.finishOperations().core.settle();
  await about.getByText("Active").waitFor();
  await page.getByRole("row", { name: "start compute finished" }).waitFor();
  await page.getByRole("button", { name: "Suspend" }).waitFor();
  shop.patch(primary, { autoscaling_limit_max_cu: 4 });
  await about.getByText("1–4 vCPU").waitFor();
  expect(await page.evaluate("globalThis.sameDocument")).toBe(true);
  shop.finishOperations();
  shop.patch(primary, { branch_id: "br-preview-1" });
  await page.waitForURL(`**/branches/br-preview-1/computes/${primary}`);
  await page.getByRole("link", { name: "preview" }).waitFor();
  expect(site.complaints).toEqual([]);
});

it("computes come, go and change on their branch's page, but not the form that somebody is filling in", async () => {
  const { shop, site, page } = await openAs(branchPath);
  await using _ = site;
  const form = page.getByRole("form", { name: `Change ${primary}` });
  await form.getByLabel("to", { exact: true }).selectOption("4");
  const { endpoint: replica } = shop.create({ branch_id: main, type: "read_only" });
  const row = (id: string) => page.locator(`#${id}`);
  await row(replica.id).getByText("Starting").waitFor();
  shop.finishOperations();
  shop.write(`POST /projects/${project}/endpoints/${primary}/start`);
  shop.finishOperations().core.settle();
  await row(primary).getByText("Active").waitFor();
  expect(await form.getByLabel("to", { exact: true }).inputValue()).toBe("4");
  shop.write(`DELETE /projects/${project}/endpoints/${replica.id}`);
  await row(replica.id).waitFor({ state: "detached" });
  await form.getByRole("button").click();
  await page.getByText(`${primary} has 1–4 vCPU.`).waitFor();
  expect(site.complaints).toEqual([]);
});

it("a row that somebody uses stays although its compute is deleted, and goes as they leave it", async () => {
  const { shop, site, page } = await openAs(branchPath);
  await using _ = site;
  const { endpoint: replica } = shop.create({ branch_id: main, type: "read_only" });
  const row = page.locator(`#${replica.id}`);
  await row.getByLabel("to", { exact: true }).focus();
  shop.finishOperations();
  shop.write(`DELETE /projects/${project}/endpoints/${replica.id}`);
  shop.write(`POST /projects/${project}/endpoints/${primary}/start`);
  shop.finishOperations().core.settle();
  await page.locator(`#${primary}`).getByText("Active").waitFor();
  expect(await row.count()).toBe(1);
  await page.getByRole("link", { name: "API keys" }).focus();
  await row.waitFor({ state: "detached" });
  expect(site.complaints).toEqual([]);
});

const tokenOf = (html: string) => /name="token" value="([^"]+)"/.exec(html)?.[1] ?? "";

/** Sends a form as from another tab, which has the same cookie; answers the page after it. */
async function send({ site, page }: { site: Site; page: Page }, path: string, form: Record<string, string>) {
  return (await page.request.post(`${site.address}${path}`, { form })).text();
}

it("a page names the person in whose name its forms act, also after another one has signed in beside it", async () => {
  const { shop, site, page } = await openAs(branchPath);
  await using _ = site;
  const who = page.locator("header .who");
  expect(await who.textContent()).toBe("ana@example.com");
  const signIn = await send({ site, page }, "/app/sign-out", { token: tokenOf(await page.content()) });
  await send({ site, page }, "/app/sign-in", { token: tokenOf(signIn), account: "acc-bob" });
  shop.patch(primary, { name: "renamed" });
  await who.getByText("bob@example.com").waitFor({ timeout: 20_000 });
});

it("a page asks to sign in once the person has signed out on another one, though nothing has changed since", async () => {
  const { site, page } = await openAs(branchPath);
  await using _ = site;
  const token = await page.locator("header input[name=token]").inputValue();
  await page.request.post(`${site.address}/app/sign-out`, { form: { token } });
  await page.getByRole("heading", { name: "Sign in" }).waitFor({ timeout: 30_000 });
  expect(await page.locator("header .who").count()).toBe(0);
});

it.each([
  ["the person has signed out on another one", undefined, "Sign in"],
  ["another person has signed in beside it", "acc-bob", "Home"],
])(
  "a page that shows no changes, such as one with the secret of a key, is left once %s",
  async (_why, account, next) => {
    const { site, page } = await openAs("/app/keys");
    await using _ = site;
    await page.getByRole("form", { name: "New personal key" }).getByLabel("Name").fill("desk");
    await page.keyboard.press("Enter");
    await page.getByLabel("The secret of desk").waitFor();
    const signIn = await send({ site, page }, "/app/sign-out", { token: tokenOf(await page.content()) });
    if (account !== undefined) await send({ site, page }, "/app/sign-in", { token: tokenOf(signIn), account });
    await page.getByRole("heading", { name: next, exact: true }).waitFor({ timeout: 30_000 });
    expect(await page.getByLabel("The secret of desk").count()).toBe(0);
  },
);

it("a page follows the changes again once a proxy has let it, which said for a while that the service is gone", async () => {
  await using site = await Site.open(new Shop());
  const { page } = site;
  let refused = 0;
  await page.route("**/app/changes", (route) => (refused++ === 0 ? route.fulfill({ status: 502 }) : route.continue()));
  await page.goto(site.address);
  await site.enter(page.getByRole("button", { name: "ana@example.com" }));
  await page.locator("html.live").waitFor({ timeout: 20_000 });
  expect(refused).toBe(2);
});

it("a connection string and its code are copied with one button each, also while their password is masked", async () => {
  const { site, page } = await openAs(`${branchPath}/computes/${primary}`);
  await using _ = site;
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  const copied = async (what: string) => {
    await page.getByRole("button", { name: `Copy ${what}` }).click();
    await page.getByRole("button", { name: "Copied" }).waitFor();
    const text = await page.evaluate("navigator.clipboard.readText()");
    await page.reload();
    return text;
  };
  const masked = await page.getByLabel("Connection string").inputValue();
  const [uri, code] = [await copied("connection string"), await copied("code for psql")];
  expect([masked.includes("********"), code]).toEqual([true, `psql '${String(uri)}'`]);
  expect(await page.content()).not.toContain(String(uri));
  await page.getByRole("link", { name: "Show the password" }).click();
  await page.getByRole("link", { name: "Hide the password" }).waitFor();
  expect(await page.getByLabel("Connection string").inputValue()).toBe(uri);
  expect(await copied("connection string")).toBe(uri);
  expect(await copied("compute id")).toBe(primary);
});

it("a text is copied where a browser has no clipboard, as without TLS, and the button keeps the focus", async () => {
  const { site, page } = await openAs(`${branchPath}/computes/${primary}`);
  await using _ = site;
  await page.evaluate(`delete Navigator.prototype.clipboard;
    addEventListener("copy", ({ target }) => { globalThis.copied = target.value; })`);
  await page.getByRole("button", { name: "Copy compute id" }).click();
  await page.getByRole("button", { name: "Copied" }).and(page.locator(":focus")).waitFor();
  expect(await page.evaluate("globalThis.copied")).toBe(primary);
  expect(await page.locator("body > textarea").count()).toBe(0);
});

it("a page that says why a form was refused sends it no more: not as its texts are copied, nor with another form", async () => {
  const { shop, site, page } = await openAs(`${branchPath}/computes/${primary}`);
  await using _ = site;
  shop.write(`POST /projects/${project}/endpoints/${primary}/start`);
  const posts: string[] = [];
  page.on("request", (request) => request.method() === "POST" && posts.push(new URL(request.url()).pathname));
  await page.getByRole("button", { name: "Restart" }).click();
  await page.getByRole("alert").getByText("Busy").waitFor();
  shop.finishOperations().core.settle();
  await page.getByRole("button", { name: "Copy connection string" }).click();
  await page.getByRole("button", { name: "Copied" }).waitFor();
  await page.getByLabel("to", { exact: true }).selectOption("4");
  await page.getByRole("button", { name: `Save ${primary}` }).click();
  await page.getByText(`${primary} has 1–4 vCPU.`).waitFor();
  const own = `${branchPath}/computes/${primary}`;
  expect(posts).toEqual([`${own}/restart`, own]);
});

it("a connection string shows its underscores on a screen with one pixel to a point", async () => {
  const { site, page } = await openAs(`${branchPath}/computes/${primary}`);
  await using _ = site;
  expect(await page.evaluate("devicePixelRatio")).toBe(1);
  const field = page.getByLabel("Connection string");
  const pictureOf = async (value: string) => {
    await field.evaluate((input, text) => Object.assign(input, { value: text }), value);
    return (await field.screenshot()).toString("base64");
  };
  // Cut off below the base line, an underscore looks like a space.
  expect(await pictureOf("neondb_owner")).not.toBe(await pictureOf("neondb owner"));
});

it("without a script a page works as before, with a link to look again and no button that does nothing", async () => {
  const { shop, site, page } = await openAs("/");
  await using _ = site;
  const context = await page.context().browser()?.newContext({ javaScriptEnabled: false });
  await context?.addCookies(await page.context().cookies());
  const plain = await context?.newPage();
  shop.write(`POST /projects/${project}/endpoints/${primary}/start`);
  await plain?.goto(`${site.address}${branchPath}/computes/${primary}`);
  expect(await plain?.getByRole("button", { name: "Copy" }).first().isVisible()).toBe(false);
  shop.finishOperations();
  await plain?.getByRole("link", { name: "Look again" }).click();
  await plain?.locator("#about").getByText("Active").waitFor();
});

it("everything that can be operated has a name for who cannot see the page", async () => {
  await using site = await Site.open(new Shop());
  const { page } = site;
  await page.goto(site.address);
  await expectNames(page);
  await page.getByRole("button", { name: "ana@example.com" }).click();
  const branch = `/app/projects/${project}/branches/${main}`;
  for (const path of pagesOf(branch)) {
    await page.goto(`${site.address}${path}`);
    await expectNames(page);
  }
});

async function expectNames(page: Page): Promise<void> {
  for (const role of ["button", "link", "textbox", "searchbox", "combobox", "form", "navigation"] as const) {
    const named = await page.getByRole(role, { name: /\S/ }).count();
    expect([page.url(), role, named]).toEqual([page.url(), role, await page.getByRole(role).count()]);
  }
  expect(await page.getByRole("heading", { level: 1 }).count()).toBe(1);
}
