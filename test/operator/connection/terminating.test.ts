import { expect, test } from "vitest";
import { terminatingOf } from "../../../src/operator/connection/terminating.ts";
import { compute } from "../../support/builders.ts";
import { connection } from "../../support/connections.ts";

const going = connection({ deleting: true });

test("a deletion that nobody holds up has no message", () => {
  expect(terminatingOf(going, undefined, () => [])).toBeUndefined();
});

test.each([
  [199, 199, true],
  [199, 200, false],
])("the names of users take 400 characters at most: %i and %i of them", (first, second, isNamed) => {
  const users = ["a".repeat(first), "b".repeat(second)].map((name) => compute({ name }));
  const message = terminatingOf(going, undefined, () => users)?.message;
  expect(message).toMatch(isNamed ? /a, b+\), / : /a and others\), /);
});
