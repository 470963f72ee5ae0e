import { expect, it } from "vitest";
import { z } from "zod";
import { primary, project, Shop } from "../support/shop.ts";

const Page = z.object({
  operations: z.array(z.object({ id: z.string() })),
  pagination: z.object({ cursor: z.string() }).optional(),
});

it("pages of operations show each one once, newest first, and a page beyond the last one is empty", () => {
  const shop = new Shop();
  for (let made = 0; made < 4; made += 1) {
    shop.active();
    shop.write(`POST /projects/${project}/endpoints/${primary}/suspend`);
    shop.finishOperations();
  }
  const page = (cursor: string) =>
    Page.parse(shop.ana(`GET /projects/${project}/operations?limit=3&cursor=${cursor}`).body);
  const seen: string[][] = [];
  for (let cursor: string | undefined = ""; cursor !== undefined; ) {
    const { operations, pagination } = page(cursor);
    seen.push(operations.map(({ id }) => id));
    cursor = pagination?.cursor;
  }
  expect(seen.map(({ length }) => length)).toEqual([3, 3, 2, 0]);
  expect(seen.flat()).toEqual(shop.operations().map(({ id }) => id));
});

it("an operation shows an error once it has failed, and not before", () => {
  const shop = new Shop();
  const { operations } = shop.write(`POST /projects/${project}/endpoints/${primary}/start`);
  const id = operations[0]?.id ?? "";
  shop.core.change(({ store }) => store.operations.forceFailure(id, "made to fail"));
  const shown = () => shop.ana(`GET /projects/${project}/operations/${id}`).body["operation"];
  expect(shown()).toMatchObject({ status: "running" });
  expect(shown()).not.toHaveProperty("error");
  shop.finishOperations();
  expect(shown()).toMatchObject({ status: "failed", error: "made to fail" });
});
