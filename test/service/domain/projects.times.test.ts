import { beforeEach, expect, it } from "vitest";
import { z } from "zod";
import { keys, project, Shop } from "../support/shop.ts";

const Projects = z.object({ projects: z.array(z.looseObject({ id: z.string(), updated_at: z.string() })) });

let shop: Shop;
let since: number;
beforeEach(() => {
  shop = new Shop();
  since = shop.time.now();
});

/** Minutes after the beginning at which each project that Ana or Eve reaches was changed. */
function changed(): Record<string, number> {
  const all = [keys.ana, keys.eve].flatMap((key) => Projects.parse(shop.send(key, "GET /projects").body).projects);
  return Object.fromEntries(all.map(({ id, updated_at }) => [id, (Date.parse(updated_at) - since) / 60_000]));
}

it("a project that is renamed, given other settings or another owner was changed then, and no other was", () => {
  const before = changed();
  const steps: readonly [key: string | undefined, line: string, body: object][] = [
    [keys.ana, `PATCH /projects/${project}`, { project: { name: "next" } }],
    [keys.ana, "PATCH /projects/shop-two", { project: { history_retention_seconds: 3600 } }],
    [keys.ana, "POST /users/me/projects/transfer", { destination_org_id: "org-shop", project_ids: ["ana-own"] }],
    [undefined, "PUT /_admin/projects/eve-own/owner", { owner: "org-other" }],
  ];
  for (const [key, line, body] of steps) {
    shop.time.pass(60_000);
    expect([line, shop.send(key, line, body).status]).toEqual([line, 200]);
  }
  expect(changed()).toEqual({ ...before, [project]: 1, "shop-two": 2, "ana-own": 3, "eve-own": 4 });
});
