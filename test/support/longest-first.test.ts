import { existsSync } from "node:fs";
import { expect, it } from "vitest";
import { longest } from "./longest-first.ts";

it("each of the longest files, with which a run begins, exists", () => {
  expect(longest.filter((file) => !existsSync(file))).toEqual([]);
});
