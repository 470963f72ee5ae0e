import { expect, test } from "vitest";
import { fieldsChanged, StoredSpecs } from "../../../src/operator/pool/stored-specs.ts";
import { compute } from "../../support/builders.ts";

const member = (spec: object, uid = "u-1") => {
  const made = compute({ uid });
  return { ...made, spec: { ...made.spec, ...spec } };
};
const sent = member({}).spec;
const other = member({ disabled: false }).spec;
const stored = member({ disabled: true });

test("a spec that the API server stores in place of the one that was sent is kept, for that one alone", () => {
  const specs = new StoredSpecs();
  expect([specs.isKept(sent, member({})), specs.isKept(sent, stored)]).toEqual([true, false]);
  specs.answered(sent, stored);
  expect([specs.isKept(sent, member({})), specs.isKept(sent, stored)]).toEqual([true, true]);
  expect(specs.isKept(other, stored)).toBe(false);
  expect(specs.isKept(sent, member({ disabled: false }))).toBe(false);
  expect(specs.isKept(sent, member({ disabled: true }, "u-2"))).toBe(false);
});

test("a spec that is stored as it was sent ends what was known, as forgetting the member does", () => {
  const specs = new StoredSpecs();
  specs.answered(sent, stored);
  specs.answered(sent, member({}));
  expect(specs.isKept(sent, stored)).toBe(false);
  specs.answered(sent, stored);
  specs.forget(stored);
  expect(specs.isKept(sent, stored)).toBe(false);
});

test("the fields of a spec that differ are named in order", () => {
  const spec = { ...sent, regionID: "x" };
  expect(fieldsChanged(sent, sent)).toEqual([]);
  expect(fieldsChanged(sent, stored.spec)).toEqual(["disabled"]);
  expect(fieldsChanged({ ...spec, type: "read_only" }, stored.spec)).toEqual(["disabled", "regionID", "type"]);
});
