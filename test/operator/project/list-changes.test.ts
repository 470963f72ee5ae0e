import { expect, test } from "vitest";
import { changesBetween } from "../../../src/operator/project/list-changes.ts";
import { endpoint } from "../../support/builders.ts";

test("endpoints that are equal have not changed, though they are other objects", () => {
  expect(changesBetween([endpoint()], [endpoint()])).toEqual({ ids: [], places: [] });
});

test("an endpoint whose state alone changed is in the same place", () => {
  expect(changesBetween([endpoint()], [endpoint({ current_state: "idle" })])).toEqual({ ids: ["ep-one"], places: [] });
});
