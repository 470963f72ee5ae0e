import type { Locator } from "playwright-core";
import { expect, it } from "vitest";
import { Shop } from "../support/shop.ts";
import { signatureOf } from "./signature.ts";
import { Site } from "./site.ts";

/** Forty databases: one used most, one asleep, one that an operator keeps, one with a branch that ends, one failed. */
function forty(): Shop {
  const shop = new Shop();
  const projects = Array.from({ length: 40 }, (_, index) => ({
    id: `db-${index}`,
    name: `database-${index}`,
    owner: "acc-ana",
    branches: [{ id: `br-${index}`, name: "main" }],
    endpoints: [{ id: `ep-${index}`, branchID: `br-${index}`, type: "read_write" as const }],
  }));
  shop.applySeed({ projects });
  const act = (line: string, body?: object) => {
    const answer = shop.ana(line, body);
    if (answer.status >= 300) throw new Error(`${line}: ${answer.status}`);
    shop.finishOperations();
  };
  act("PATCH /projects/db-7/endpoints/ep-7", {
    endpoint: { suspend_timeout_seconds: -1, autoscaling_limit_max_cu: 4, autoscaling_limit_min_cu: 4 },
  });
  act("POST /projects/db-7/endpoints/ep-7/start");
  act("POST /projects/db-12/endpoints/ep-12/start");
  act("PATCH /projects/db-12/endpoints/ep-12", { endpoint: { name: signatureOf("production", "shop/orders") } });
  act("POST /projects/db-3/branches", { branch: { name: "preview/pr-42", expires_at: "2026-01-02T00:00:00Z" } });
  shop.time.pass(3_600_000);
  shop.core.settle();
  const [operation] = Object.values(shop.ana("POST /projects/db-20/endpoints/ep-20/start").body["operations"] ?? []);
  const { id } = { id: "", ...operation };
  shop.core.change(({ store }) => store.operations.forceFailure(id, "the disk is full"));
  shop.finishOperations();
  return shop;
}

it("a person with forty databases finds what costs, sleeps, ends and failed, its keeper, its size and its URL in few clicks", async () => {
  await using site = await Site.open(forty());
  const { page } = site;
  await page.goto(site.address);
  await page.getByRole("button", { name: "ana@example.com" }).click();
  const figures = page.locator("#figures");
  await figures.waitFor();
  let clicks = 0;
  const click = async (target: Locator) => {
    clicks += 1;
    await target.click();
  };
  const link = (name: string) => page.getByRole("link", { name, exact: true }).first();
  const counted: Record<string, number> = {};
  /** Does a task from the first page. */
  const task = async (name: string, act: () => Promise<void>) => {
    await page.goto(site.address);
    clicks = 0;
    await act();
    counted[name] = clicks;
  };

  await task("the most expensive of this week", async () => {
    await page.locator("#used").getByRole("row").nth(1).getByRole("link", { name: "ep-7" }).waitFor();
  });
  await task("the branch that ends soon", async () => {
    await page.locator("#ending").getByText("preview/pr-42").waitFor();
  });
  await task("what failed, and why", async () => {
    await page.locator("#failed").getByText("the disk is full").waitFor();
  });
  await task("why one is asleep", async () => {
    await click(link("Computes"));
    await page.getByLabel("Id, name or branch").fill("ep-12");
    await page.keyboard.press("Enter");
    clicks += 1;
    await click(link("ep-12"));
    await page.locator("#why").getByText("scale to zero suspended it after 5 minutes without a client").waitFor();
  });
  await task("who keeps it", async () => {
    await click(link("Computes"));
    await page.getByLabel("Id, name or branch").fill("shop/orders");
    await page.keyboard.press("Enter");
    clicks += 1;
    await page.getByText("kept by Compute shop/orders").waitFor();
  });
  await task("another size", async () => {
    await click(page.locator("#used").getByRole("link", { name: "ep-7" }));
    const form = page.getByRole("form", { name: "Change ep-7" });
    await form.getByLabel("From").selectOption("1");
    clicks += 1;
    await click(form.getByRole("button"));
    await page.getByText("ep-7 has 1–4 vCPU").waitFor();
  });
  await task("its URL", async () => {
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await click(page.locator("#used").getByRole("link", { name: "ep-7" }));
    await click(page.getByRole("button", { name: "Copy connection string" }));
    await page.getByRole("button", { name: "Copied" }).waitFor();
    expect(await page.evaluate("navigator.clipboard.readText()")).toMatch(/^postgresql:\/\/[^*]+$/);
  });
  expect(counted).toEqual({
    "the most expensive of this week": 0,
    "the branch that ends soon": 0,
    "what failed, and why": 0,
    "why one is asleep": 3,
    "who keeps it": 2,
    "another size": 3,
    "its URL": 2,
  });
});
