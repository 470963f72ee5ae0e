import { beforeEach, expect, it } from "vitest";
import { z } from "zod";
import { main, preview, project, Shop } from "../support/shop.ts";

const branches = `/projects/${project}/branches`;
const Timed = z.object({ name: z.string(), created_at: z.string(), updated_at: z.string() });
const Lists = z.object({ roles: z.array(Timed).default([]), databases: z.array(Timed).default([]) });

let shop: Shop;
beforeEach(() => {
  shop = new Shop();
});

/** When each role and each database of a branch was made and changed, in seconds after the beginning. */
function times(branch: string, since: number): Record<string, [made: number, changed: number]> {
  const all = ["roles", "databases"].flatMap((what) => {
    const { roles, databases } = Lists.parse(shop.ana(`GET ${branches}/${branch}/${what}`).body);
    return [...roles, ...databases];
  });
  const after = (time: string) => (Date.parse(time) - since) / 1000;
  return Object.fromEntries(all.map((one) => [one.name, [after(one.created_at), after(one.updated_at)]]));
}

/** Sends a change a minute after the one before. */
function minuteLater(line: string, body?: object): void {
  shop.finishOperations();
  shop.time.pass(57_000);
  expect(shop.ana(line, body).body["message"]).toBeUndefined();
}

it("a role whose password is reset, and a database with another owner, were changed then and made before", () => {
  const since = shop.time.now();
  minuteLater(`POST ${branches}/${main}/roles`, { role: { name: "app" } });
  minuteLater(`POST ${branches}/${main}/roles/app/reset_password`);
  minuteLater(`PATCH ${branches}/${main}/databases/neondb`, { database: { owner_name: "app" } });
  expect(times(main, since)).toEqual({ neondb_owner: [0, 0], app: [60, 120], neondb: [0, 180] });
});

it("the roles and databases of a new branch and of one that is reset were made and changed with it", () => {
  const since = shop.time.now();
  minuteLater(`POST ${branches}/${main}/roles`, { role: { name: "app" } });
  minuteLater(`POST ${branches}/${main}/databases`, { database: { name: "notes", owner_name: "app" } });
  minuteLater(`POST ${branches}/${preview}/restore`, { source_branch_id: main });
  const at = [180, 180];
  expect(times(preview, since)).toEqual({ neondb_owner: at, app: at, neondb: at, notes: at });
  minuteLater(`POST ${branches}`, { branch: { name: "next" } });
  const next = shop.core.context.store.branches.list(project).find(({ name }) => name === "next")?.id ?? "";
  const then = [240, 240];
  expect(times(next, since)).toEqual({ neondb_owner: then, app: then, neondb: then, notes: then });
});
