import { expect, test } from "vitest";
import { isRetained, policyInForce } from "../../../src/operator/objects/deletion-policy.ts";

test.each<[string | undefined, string | undefined, string | undefined, string | undefined]>([
  ["Delete", "Retain", "adopted", "Delete"],
  ["Retain", "Delete", "created", "Retain"],
  [undefined, "Delete", "adopted", "Retain"],
  [undefined, "Retain", "created", "Delete"],
  [undefined, "Retain", "none", "Delete"],
  [undefined, "Retain", undefined, undefined],
])("declared %s, shown %s, had by %s: the policy in force is %s", (declared, shown, by, expected) => {
  const status = { deletionPolicy: shown };
  const proof = by === undefined ? undefined : { by };
  expect(policyInForce({ spec: { deletionPolicy: declared }, status: { ...status, proof } })).toBe(expected);
  const older = { ...status, proof: { by: by === "adopted" ? "created" : "adopted" } };
  const newest = by === undefined ? { proof } : older;
  expect(policyInForce({ spec: { deletionPolicy: declared }, status: newest }, by)).toBe(expected);
});

test.each<[string | undefined, string | undefined, boolean]>([
  ["Retain", undefined, true],
  [undefined, "adopted", true],
  ["Delete", "adopted", false],
  [undefined, "created", false],
  [undefined, undefined, false],
])("declared %s, had by %s: what is at the service stays or not", (declared, by, expected) => {
  const object = { spec: { deletionPolicy: declared }, status: by === undefined ? {} : { proof: { by } } };
  expect(isRetained(object)).toBe(expected);
});
