import { beforeEach, expect, it } from "vitest";
import { primary, project, Shop } from "../support/shop.ts";
import { rowsIn, textOf, Visitor } from "./visitor.ts";

const page = `/app/projects/${project}/operations`;

let shop: Shop;
let ana: Visitor;
beforeEach(() => {
  shop = new Shop();
  ana = new Visitor(shop.core).signIn("acc-ana");
});

it("the page of operations says so where there are none, in place of an empty table", () => {
  const seen = ana.get(page);
  expect(textOf(seen)).toContain("None yet.");
  expect(seen.html).not.toContain("<table");
});

it("the page of operations shows the newest first, with what each took once it is over", () => {
  shop.write(`POST /projects/${project}/endpoints/${primary}/start`);
  expect(rowsIn(ana.get(page))).toEqual([["start compute", "running", primary, "2026-01-01 00:00 UTC just now", ""]]);
  shop.finishOperations();
  shop.write(`POST /projects/${project}/endpoints/${primary}/suspend`);
  shop.finishOperations();
  const rows = rowsIn(ana.get(page));
  expect(rows.map(([action, status]) => [action, status])).toEqual([
    ["suspend compute", "finished"],
    ["start compute", "finished"],
  ]);
  expect(rows.map((row) => row[4])).toEqual([
    expect.stringMatching(/^[1-9]\d* ms$/),
    expect.stringMatching(/^[1-9]\d* ms$/),
  ]);
  shop.active();
  shop.write(`POST /projects/${project}/endpoints/${primary}/restart`);
  const newest = rowsIn(ana.get(page)).slice(0, 3);
  expect(newest.map(([, status, , , took]) => [status, took === ""])).toEqual([
    ["scheduling", true],
    ["running", true],
    ["finished", false],
  ]);
});

it("the page of operations shows why an operation failed, once it has", () => {
  const { operations } = shop.write(`POST /projects/${project}/endpoints/${primary}/start`);
  shop.core.change(({ store }) => store.operations.forceFailure(operations[0]?.id ?? "", "made to fail"));
  const status = () => rowsIn(ana.get(page))[0]?.[1];
  expect(status()).toBe("running");
  shop.finishOperations();
  expect(status()).toBe("failed made to fail");
});
