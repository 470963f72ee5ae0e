import { expect, it } from "vitest";
import { identifier, literal } from "../../../../src/service/postgres/session/quoting.ts";

it("a name keeps its quotes in SQL, and cannot end there", () => {
  expect(identifier('a"b\\c"; DROP')).toBe('"a""b\\c""; DROP"');
});

it("a text keeps its quotes and backslashes in SQL, and cannot end there", () => {
  expect(literal("a'b\\'; DROP \\")).toBe(" E'a''b\\\\''; DROP \\\\'");
});
