import { expect, it } from "vitest";
import { primary, project, Shop } from "./support/shop.ts";

it("a change is made, and the others hear of it, where one of those who follow it fails", () => {
  const shop = new Shop();
  const mistake = new Error("a mistake");
  let heard = 0;
  shop.core.onChange(() => {
    throw mistake;
  });
  shop.core.onChange(() => (heard += 1));
  const made = shop.core.change(({ store }) => store.endpoints.byId(primary)?.id);
  expect([made, heard, shop.errors]).toEqual([primary, 1, [mistake]]);
});

it("a follower hears of no change after it has left, and the others go on", () => {
  const shop = new Shop();
  const heard: string[] = [];
  const leave = shop.core.onChange(() => heard.push("one"));
  shop.core.onChange(() => heard.push("other"));
  shop.ana(`POST /projects/${project}/endpoints/${primary}/start`);
  leave();
  heard.length = 0;
  shop.core.change(() => {});
  expect(heard).toEqual(["other"]);
});
