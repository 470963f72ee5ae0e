import { expect, test } from "vitest";
import { isRetained, policyInForce } from "../../../src/operator/life/deletion-policy.ts";

test.each<[string | undefined, string | undefined, string | undefined, string | undefined]>([
  ["Delete", "Retain", "adopted", "Delete"],
  ["Retain", "Delete", "created", "Retain"],
  [undefined, "Delete", "adopted", "Retain"],
  [undefined, "Retain", "created", "Delete"],
  [undefined, "Retain", "none", "Delete"],
  [undefined, "Retain", undefined, "Retain"],
  [undefined, undefined, undefined, undefined],
])("declared %s, shown %s, had by %s: the policy in force is %s", (declared, shown, by, expected) => {
  const object = { spec: { deletionPolicy: declared }, status: { deletionPolicy: shown } };
  expect(policyInForce(object, by)).toBe(expected);
});

test.each<[string | undefined, string | undefined, boolean]>([
  ["Retain", undefined, true],
  [undefined, "Retain", true],
  ["Delete", "Retain", false],
  [undefined, undefined, false],
])("declared %s, shown %s: what is at the service stays or not", (declared, shown, expected) => {
  const object = { spec: { deletionPolicy: declared }, status: { deletionPolicy: shown } };
  expect(isRetained(object)).toBe(expected);
});
