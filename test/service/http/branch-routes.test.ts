import { beforeEach, expect, it, vi } from "vitest";
import { z } from "zod";
import { BranchDetails } from "../../../src/service/store/details.ts";
import { main, preview, project, Shop } from "../support/shop.ts";

const path = `/projects/${project}/branches`;
const List = z.object({
  branches: z.array(z.looseObject({ id: z.string(), name: z.string(), cpu_used_sec: z.number() })),
  pagination: z.object({ next: z.string().optional() }),
});

let shop: Shop;
beforeEach(() => {
  shop = new Shop({ branchRecovery: true });
});

const list = (query = "") => List.parse(shop.ana(`GET ${path}${query}`).body);

/** Adds branches of main with these names. */
function add(...names: string[]): void {
  shop.core.change(({ store }, at) =>
    names.forEach((name, index) =>
      store.branches.insert({
        id: `br-${index}-added`,
        projectId: project,
        parentId: main,
        name,
        isDefault: false,
        isProtected: false,
        currentState: "ready",
        details: BranchDetails.parse({}),
        expiresAt: undefined,
        createdAt: at + index,
      }),
    ),
  );
}

it("a list of branches costs as many statements as before, however many it shows", () => {
  const statements = () => {
    const spies = [vi.spyOn(shop.database, "one"), vi.spyOn(shop.database, "all")];
    list();
    const count = spies.reduce((sum, spy) => sum + spy.mock.calls.length, 0);
    spies.forEach((spy) => spy.mockRestore());
    return count;
  };
  list();
  const before = statements();
  add(...Array.from({ length: 500 }, (_, index) => `more-${index}`));
  // The first list after a change also looks for what is due.
  expect([list().branches.length, statements()]).toEqual([503, before]);
});

it("a page of branches reads those that it shows and no others", () => {
  add(...Array.from({ length: 500 }, (_, index) => `more-${index}`));
  const all = vi.spyOn(shop.database, "all");
  list("?limit=7");
  const read = all.mock.results.flatMap(({ value }) => z.array(z.looseObject({})).parse(value));
  all.mockRestore();
  expect(read.filter((row) => "details" in row && "parent_id" in row)).toHaveLength(7);
});

it("pages of branches follow each other in the order asked for, each branch once", () => {
  add("Zebra", "apple", "\u00c4pfel", "10", "9", "zoo");
  const names = ["10", "9", "\u00c4pfel", "apple", "main", "preview", "staging", "Zebra", "zoo"];
  for (const order of ["asc", "desc"]) {
    const seen: string[] = [];
    for (let cursor: string | undefined = ""; cursor !== undefined; ) {
      const page = list(`?sort_by=name&sort_order=${order}&limit=2&cursor=${cursor}`);
      seen.push(...page.branches.map(({ name }) => name));
      cursor = page.pagination.next;
    }
    expect(seen).toEqual(order === "asc" ? names : names.toReversed());
  }
});

it("a list of branches shows of each what its own call shows, also of deleted ones", () => {
  shop.create({ branch_id: preview, type: "read_write", autoscaling_limit_min_cu: 2 });
  shop.finishOperations();
  shop.time.pass(100_000);
  shop.ana(`POST ${path}`, { branch: { name: "gone" } });
  shop.finishOperations();
  const gone = list("?search=gone").branches[0]?.id ?? "";
  shop.ana(`DELETE ${path}/${gone}`);
  const shown = list("?include_deleted=true&sort_by=created_at&sort_order=asc").branches;
  expect(shown.map(({ id }) => id)).toContain(gone);
  expect(list().branches.map(({ id }) => id)).not.toContain(gone);
  for (const branch of shown) expect(branch).toEqual(shop.ana(`GET ${path}/${branch.id}`).body["branch"]);
  expect(shown.find(({ id }) => id === preview)?.cpu_used_sec).toBeGreaterThan(190);
});
