import { expect, test } from "vitest";
import { identityOf } from "../../../src/operator/branch/action.ts";
import { writes } from "./executing.ts";

test.each([
  [writes.create, "1 create default/shop "],
  [writes.patch, "1 patch br-one expiry"],
  [writes.renewal, "1 patch br-one renewal"],
  [writes.protection, "1 patch br-one protection"],
  [writes.reset, "1 reset br-one 1"],
  [writes.delete, "1 delete br-one "],
])("a write that failed is known again by its kind, target, purpose and generation: %j", (write, identity) => {
  expect(identityOf(write, 1)).toBe(identity);
  expect(identityOf(write, 2)).not.toBe(identity);
});

test.each([
  ["another value of resetAt", writes.reset, { ...writes.reset, value: "2" }],
  ["another branch", writes.delete, { ...writes.delete, id: "br-two" }],
  ["another name", writes.create, { ...writes.create, name: "default/next" }],
])("a write with %s is another one", (_, one, other) => {
  expect(identityOf(one, 1)).not.toBe(identityOf(other, 1));
});
