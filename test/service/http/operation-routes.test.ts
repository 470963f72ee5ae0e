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
