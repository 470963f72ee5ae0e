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
  const told = await page.getByRole("status").textContent();
  expect(told).toBe(`${primary} has 1–2 vCPU. Scale to zero: off.`);
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
  const refused = `/app/projects/${project}/branches/${main}?page=1`;
  expect(site.complaints).toEqual([
    expect.stringContaining(`${refused}: Failed to load resource: the server responded with a status of 400`),
  ]);
});

it("every page fits a telephone of 390 pixels, with nothing to be scrolled for sideways", async () => {
  const shop = new Shop();
  shop.patch(primary, { name: "k8s-89abcdef-0123456789abcdef-0123456789abcdef0123456789abcdef" });
  await using site = await Site.open(shop);
  const { page } = site;
  await page.setViewportSize({ width: 390, height: 844 });
  await page.goto(site.address);
  await page.getByRole("button", { name: "ana@example.com" }).click();
  const branch = `/app/projects/${project}/branches/${main}`;
  for (const path of ["/", `/app/projects/${project}`, branch, `${branch}/computes/${primary}`, "/app/keys"]) {
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
  await page.getByRole("button", { name: "Show" }).click();
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

it("everything that can be operated has a name for who cannot see the page", async () => {
  await using site = await Site.open(new Shop());
  const { page } = site;
  await page.goto(site.address);
  await expectNames(page);
  await page.getByRole("button", { name: "ana@example.com" }).click();
  const branch = `/app/projects/${project}/branches/${main}`;
  for (const path of ["/", `/app/projects/${project}`, branch, `${branch}/computes/${primary}`, "/app/keys"]) {
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
