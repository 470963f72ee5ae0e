import { expect, it } from "vitest";
import { main, primary, project, Shop } from "../support/shop.ts";
import { violations } from "./axe.ts";
import { signatureOf } from "./signature.ts";
import { Site } from "./site.ts";

const widths = [390, 768, 1440];

const projectPath = `/app/projects/${project}`;
const branch = `${projectPath}/branches/${main}`;
const compute = `${branch}/computes/${primary}`;

const paths = [
  "/",
  "/app/projects",
  "/app/projects?search=nothing",
  "/app/computes",
  projectPath,
  `${projectPath}?search=nothing`,
  `${projectPath}/operations`,
  branch,
  `${branch}/roles`,
  `${branch}/query`,
  compute,
  "/app/keys",
  "/app/nowhere",
];

/** A shop in which every part of a page has something to show. */
function busyShop(): Shop {
  const shop = new Shop();
  shop.active();
  shop.connect(primary, 600);
  shop.patch(primary, { name: signatureOf("previews", "shop/db") });
  shop.finishOperations();
  const annotation_value = {
    "compute-operator.dev/uid": "0b3c4d5e-11aa-4bbb-8ccc-0123456789ab",
    "compute-operator.dev/fleet": "previews",
    "compute-operator.dev/object": "shop/pr-42",
  };
  const made = { name: "pr-42", expires_at: "2026-01-03T00:00:00Z" };
  shop.ana(`POST /projects/${project}/branches`, {
    branch: made,
    endpoints: [{ type: "read_write" }],
    annotation_value,
  });
  shop.finishOperations();
  const { operations } = shop.patch(primary, { autoscaling_limit_max_cu: 4 });
  shop.core.change(({ store }) => store.operations.forceFailure(operations[0]?.id ?? "", "made to fail"));
  shop.finishOperations();
  const answer = { columns: ["id", "name"], rows: [["1", null]], more: false, tag: "SELECT 1" };
  shop.core.context.queries = { run: () => Promise.resolve(answer) };
  return shop;
}

async function signedIn(site: Site): Promise<void> {
  await site.page.goto(site.address);
  await site.page.getByRole("button", { name: "ana@example.com" }).click();
}

it.each(["light", "dark"] as const)(
  "no page breaks a rule of accessibility at three widths, in %s colours",
  async (colours) => {
    await using site = await Site.open(busyShop(), colours);
    const { page } = site;
    await page.goto(site.address);
    expect(await violations(page)).toEqual([]);
    await signedIn(site);
    for (const width of widths) {
      await page.setViewportSize({ width, height: 900 });
      for (const path of paths) {
        await page.goto(`${site.address}${path}`);
        expect([path, width, await violations(page)]).toEqual([path, width, []]);
        expect([path, await page.evaluate("document.documentElement.scrollWidth")]).toEqual([path, width]);
      }
    }
  },
);

it("a person asks a query with the keyboard alone, and the answer breaks no rule of accessibility", async () => {
  await using site = await Site.open(busyShop());
  const { page } = site;
  await signedIn(site);
  await page.goto(`${site.address}${branch}`);
  await site.enter(page.getByRole("link", { name: "Query" }));
  await site.tabTo(page.getByLabel("Statement"));
  await page.keyboard.type("SELECT 1");
  await site.enter(page.getByRole("button", { name: "Run" }));
  await page.getByRole("cell", { name: "null" }).waitFor();
  expect(await violations(page)).toEqual([]);
  expect(site.complaints).toEqual([]);
});

it("the page of a project with 211 branches is less than 4,000 pixels high at three widths", async () => {
  const shop = busyShop();
  const branches = Array.from({ length: 211 }, (_, index) => ({
    id: `br-wide-${index}`,
    name: index === 0 ? "main" : `preview/pr-${index}-a-topic-of-some-length`,
  }));
  shop.applySeed({
    projects: [
      {
        id: "wide",
        owner: "acc-ana",
        branches,
        endpoints: branches.map(({ id }) => ({ branchID: id, type: "read_write" as const })),
      },
    ],
  });
  shop.core.change(({ store }, at) => {
    for (const one of store.branches.list("wide").slice(1)) {
      const annotations = {
        "compute-operator.dev/uid": "0b3c4d5e-11aa-4bbb-8ccc-0123456789ab",
        "compute-operator.dev/fleet": "previews",
        "compute-operator.dev/object": `shop/${one.name.slice(8)}`,
      };
      store.branches.update({ ...one, expiresAt: at + 3 * 86_400_000, details: { ...one.details, annotations } }, at);
    }
  });
  await using site = await Site.open(shop);
  await signedIn(site);
  for (const width of widths) {
    await site.page.setViewportSize({ width, height: 900 });
    await site.page.goto(`${site.address}/app/projects/wide`);
    expect(await site.page.getByRole("rowheader").count()).toBe(50);
    const height = await site.page.evaluate("document.documentElement.scrollHeight");
    expect([width, Number(height) < 4000]).toEqual([width, true]);
    expect(await site.page.evaluate("document.documentElement.scrollWidth")).toBe(width);
  }
});
