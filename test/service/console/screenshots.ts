// Takes the pictures of the console that the documentation shows: npm run screenshots
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { TestService } from "../support/service.ts";
import { Site } from "./site.ts";

const images = join(import.meta.dirname, "..", "..", "..", "docs", "images");
const branch = "/app/projects/shiny-wind-028834/branches/br-aged-salad-637688";
const primary = "ep-quiet-river-a1b2c3d4";

const service = new TestService().applySeed({
  accounts: [{ id: "acc-ana", email: "ana@example.com", name: "Ana", plan: "scale" }],
  organizations: [{ id: "org-shop", name: "Shop", plan: "scale", members: [{ account: "acc-ana", role: "admin" }] }],
  projects: [
    {
      id: "shiny-wind-028834",
      name: "shop",
      owner: "org-shop",
      branches: [{ id: "br-aged-salad-637688", name: "main" }],
      endpoints: [
        { ...on("br-aged-salad-637688"), id: primary, type: "read_write", ...sized(0.25, 2) },
        { ...on("br-aged-salad-637688"), id: "ep-green-meadow-5e6f7a8b", type: "read_only", ...sized(1, 1) },
        { ...on("br-aged-salad-637688"), id: "ep-early-isle-9c0d1e2f", type: "read_only", ...sized(4, 8) },
      ],
    },
  ],
});
connect("ep-green-meadow-5e6f7a8b");
service.time.pass(47 * 60_000);
connect("ep-early-isle-9c0d1e2f");
connect(primary);

await using site = await Site.open(service);
const { page } = site;
await page.goto(`${site.address}${branch}`);
await page.getByRole("button", { name: "Ana" }).click();
await page.locator(`#${primary}`).getByLabel("to", { exact: true }).selectOption("4");
await page.getByRole("button", { name: `Save ${primary}` }).click();
await page.getByRole("status").waitFor();
mkdirSync(images, { recursive: true });
await page.setViewportSize({ width: 1280, height: 700 });
await page.screenshot({ path: join(images, "console.png") });
await page.goto(`${site.address}${branch}/computes/${primary}`);
await page.getByRole("button", { name: "Copy" }).click();
await page.getByRole("button", { name: "Copied" }).waitFor();
await page.setViewportSize({ width: 1280, height: 690 });
await page.screenshot({ path: join(images, "console-compute.png") });

function on(branchID: string) {
  return { branchID };
}

function sized(min: number, max: number) {
  return { autoscaling_limit_min_cu: min, autoscaling_limit_max_cu: max };
}

/** Plays a client, and lets the compute come up. */
function connect(id: string): void {
  service.send(undefined, `POST /_connect/${id}`);
  service.time.pass(3000);
}
