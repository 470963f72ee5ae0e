import { expect, it } from "vitest";
import { z } from "zod";
import { project, Shop } from "../support/shop.ts";

const Page = z.looseObject({
  branches: z.array(z.looseObject({ name: z.string() })),
  pagination: z.object({ next: z.string().optional() }),
});
const base = `/projects/${project}/branches`;

it.each(["name", "created_at", "updated_at"])("branches sorted by %s are in one order over all pages", (by) => {
  const shop = new Shop();
  for (const name of ["c", "b", "a"]) {
    shop.ana(`POST ${base}`, { branch: { name } });
    shop.finishOperations();
  }
  for (const name of ["staging", "b"]) {
    shop.time.pass(60_000);
    const { id = "" } = shop.core.context.store.branches.list(project).find((one) => one.name === name) ?? {};
    shop.ana(`PATCH ${base}/${id}`, { branch: { protected: true } });
  }
  for (const order of ["asc", "desc"]) {
    const query = `${base}?sort_by=${by}&sort_order=${order}`;
    const page = (rest = "") => Page.parse(shop.ana(`GET ${query}${rest}`).body);
    const all = page().branches.map(({ name }) => name);
    const seen: string[] = [];
    let next: string | undefined = "";
    while (next !== undefined && seen.length < 9) {
      const { branches, pagination } = page(`&limit=1${next && `&cursor=${encodeURIComponent(next)}`}`);
      seen.push(...branches.map(({ name }) => name));
      next = pagination.next;
    }
    expect(seen).toEqual(all);
  }
});

it("branches are sorted by name as a person reads it, whatever its cases and accents", () => {
  const shop = new Shop();
  for (const name of ["Éclair", "zoo", "apple", "Fig"]) {
    shop.ana(`POST ${base}`, { branch: { name } });
    shop.finishOperations();
  }
  const { branches } = Page.parse(shop.ana(`GET ${base}?sort_by=name&sort_order=asc`).body);
  expect(branches.map(({ name }) => name)).toEqual(["apple", "Éclair", "Fig", "main", "preview", "staging", "zoo"]);
});
