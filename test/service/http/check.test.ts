import { expect, it } from "vitest";
import { z } from "zod";
import { check } from "../../../src/service/http/check.ts";

const schema = z.object({ db_name: z.string(), branch: z.object({ id: z.number() }) });

it("a field that is missing is called required, with its kind, and a wrong one keeps its reason", () => {
  expect(() => check(schema, { branch: {} }, "query")).toThrow(
    "invalid request query: db_name: required (string); branch.id: required (number)",
  );
  expect(() => check(schema, { db_name: 5, branch: { id: 1 } }, "body")).toThrow(
    "invalid request body: db_name: Invalid input: expected string, received number",
  );
});
