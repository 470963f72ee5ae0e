import { expect, test } from "vitest";
import { printedColumns } from "../../../../src/operator/compute/status/printed-columns.ts";
import type { Compute, ComputeStatus } from "../../../../src/operator/resources/compute.ts";
import { compute } from "../../../support/builders.ts";

const byName = { branchID: undefined, branchName: "main" };
const byRef = { branchID: undefined, branchRef: { name: "pr-42" } };
const resolved = (id: string) => ({ resolvedBranch: { name: "whatever", id } });

test.each<[string, Partial<Compute["spec"]>, ComputeStatus, string | undefined, string]>([
  ["the id that the spec gives", {}, { branchID: "br-main" }, undefined, "br-main"],
  ["the id that the spec gives, before an endpoint is there", {}, {}, undefined, "br-main"],
  ["the id of the branch that the endpoint was moved to", {}, { branchID: "br-other" }, undefined, "br-other"],
  ["the name that the spec gives", byName, { branchID: "br-1", ...resolved("br-1") }, undefined, "main"],
  ["the name that the spec gives, before it is resolved", byName, {}, undefined, "main"],
  [
    "the id where an endpoint by name is elsewhere",
    byName,
    { branchID: "br-2", ...resolved("br-1") },
    undefined,
    "br-2",
  ],
  ["the Branch's name at the service", byRef, { branchID: "br-1", ...resolved("br-1") }, "shop/pr-42", "shop/pr-42"],
  ["the name of a Branch that is not there", byRef, {}, undefined, "pr-42"],
])("the column BRANCH shows %s", (_, spec, after, referredName, branch) => {
  const { branch: shown } = printedColumns(compute({ spec }), after, { referredName });
  expect(shown).toBe(branch);
});

test("the column BRANCH keeps the name of a Branch that was deleted", () => {
  const status = { branchID: "br-1", branch: "shop/pr-42", ...resolved("br-1") };
  expect(printedColumns(compute({ spec: byRef, status }), status, { referredName: undefined }).branch).toBe(
    "shop/pr-42",
  );
});

test("the column TYPE is short", () => {
  expect(printedColumns(compute(), {}, { referredName: undefined }).access).toBe("rw");
  expect(printedColumns(compute({ spec: { type: "read_only" } }), {}, { referredName: undefined }).access).toBe("ro");
});
