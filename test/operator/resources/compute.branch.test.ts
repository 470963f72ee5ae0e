import { expect, test } from "vitest";
import {
  branchIDOf,
  branchInWords,
  givenName,
  parseCompute,
  resolvedID,
} from "../../../src/operator/resources/compute.ts";

function compute(branch: object, status: object = {}) {
  const metadata = { name: "a", namespace: "shop", uid: "u-1", resourceVersion: "1" };
  const read = parseCompute({ metadata, spec: { projectID: "shop-one", ...branch }, status });
  if (!read.ok) throw new Error(read.problem);
  return read.value;
}

const byID = { branchID: "br-main" };
const byName = { branchName: "main" };
const byRef = { branchRef: { name: "pr-1" } };
const at = { endpointID: "ep-1", branchID: "br-was" };
const to = (name: string) => ({ resolvedBranch: { name, id: "br-found" } });

test.each<[string, object, object, string]>([
  ["the id of the spec, whatever was resolved", byID, { ...at, ...to("main") }, "br-main"],
  ["what its name was resolved to", byName, { ...at, ...to("main") }, "br-found"],
  ["what its Branch was resolved to", byRef, { ...at, ...to("Branch pr-1") }, "br-found"],
  ["where its endpoint is, while its name is new", byName, { ...at, ...to("old") }, "br-was"],
  ["where its endpoint is, while a Branch has the name that was resolved", byRef, { ...at, ...to("pr-1") }, "br-was"],
  ["none without an endpoint", byName, { branchID: "br-was" }, ""],
  ["none after its endpoint is lost", byName, { ...at, gone: "ep-1" }, ""],
  ["where its endpoint is, after another was lost", byName, { ...at, gone: "ep-0" }, "br-was"],
  ["none where its endpoint is on none that is known", byName, { endpointID: "ep-1" }, ""],
])("the branch of a Compute is %s", (_, branch, status, id) => {
  expect(branchIDOf(compute(branch, status))).toBe(id);
});

test("an id that a spec gives is not one that was resolved", () => {
  expect(resolvedID(compute(byID, to("main")))).toBeUndefined();
  expect(resolvedID(compute(byName))).toBeUndefined();
});

test.each([
  [byID, "br-main", undefined],
  [byName, "main", "main"],
  [byRef, "pr-1", "Branch pr-1"],
])("the branch %j is %s for people", (branch, words, name) => {
  expect(branchInWords(compute(branch))).toBe(words);
  expect(givenName(compute(branch).spec)).toBe(name);
});
