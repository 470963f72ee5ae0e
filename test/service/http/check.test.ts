import { expect, it } from "vitest";
import { z } from "zod";
import { check, checkKnown } from "../../../src/service/http/check.ts";

const schema = z.object({ db_name: z.string(), branch: z.object({ id: z.number() }) });

it("a field that is missing is called required, with its kind, and a wrong one keeps its reason", () => {
  expect(() => check(schema, { branch: {} }, "query")).toThrow(
    "invalid request query: db_name: required (string); branch.id: required (number)",
  );
  expect(() => check(schema, { db_name: 5, branch: { id: 1 } }, "body")).toThrow(
    "invalid request body: db_name: Invalid input: expected string, received number",
  );
});

it.each([false, 0, null, [], {}, "text"])(
  "a field that the public API does not know is refused, also with the value %j",
  (value) => {
    const refused = () => checkKnown("updateProject", { project: { name: "shop", colour: value } });
    expect(refused).toThrow(/invalid request body: project: .*colour/);
    expect(() => checkKnown("updateProject", { project: { name: "shop", colour: "" } })).not.toThrow();
  },
);

it("the first ten of many wrong fields are named", () => {
  const names = Array.from({ length: 12 }, (_, index) => `f${index}`);
  const many = z.object(Object.fromEntries(names.map((name) => [name, z.number()])));
  expect(() => check(many, {}, "body")).toThrow(
    `invalid request body: ${names
      .slice(0, 10)
      .map((name) => `${name}: required (number)`)
      .join("; ")}`,
  );
  expect(() => check(many, {}, "body")).not.toThrow(/f10/);
});

it("a reason has no more than three hundred characters of a name that the client has chosen", () => {
  const words = () => check(z.strictObject({}), { ["x".repeat(1000)]: 1 }, "body");
  expect(words).toThrow(/^invalid request body: .{299,301}…$/);
});
