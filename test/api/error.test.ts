import { expect, it } from "vitest";
import { scopedProjectOf } from "../../src/api/error.ts";

it("the project of a scoped key is read from its refusal", () => {
  const message =
    'not allowed to perform actions outside the project this key is scoped to; subject_project_id:"shiny-wind-028834"';
  expect(scopedProjectOf(message)).toBe("shiny-wind-028834");
  expect(scopedProjectOf("project not found")).toBeUndefined();
});
