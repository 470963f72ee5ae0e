import { expect, it } from "vitest";
import { endpointIdPattern, Id } from "../../src/api/ids.ts";

it("ids are short, lower-case, and prefixed where they must be", () => {
  expect(Id.safeParse("shiny-wind-028834").success).toBe(true);
  expect(["", "a".repeat(61), "A", "a/b", "a b"].filter((text) => Id.safeParse(text).success)).toEqual([]);
  expect("ep-little-smoke-851426").toMatch(endpointIdPattern);
  expect("br-little-smoke-851426").not.toMatch(endpointIdPattern);
});
