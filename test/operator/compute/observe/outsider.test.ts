import { expect, test } from "vitest";
import { isOutsider } from "../../../../src/operator/compute/observe/outsider.ts";
import { type ComputeFields, compute } from "../../../support/builders.ts";

const nothing = { status: { observedThrough: undefined } };

test.each<[string, ComputeFields, { isUnreachable?: boolean; through?: string }, boolean]>([
  ["whose connection has listed the project", nothing, { through: "here" }, false],
  ["whose connection has not listed the project yet", nothing, {}, true],
  ["that waits for an answer of the service", { ...nothing, shows: "RateLimited" }, {}, true],
  ["that reports what only a list can show", { ...nothing, shows: "PrimaryExists" }, {}, false],
  ["whose key was refused", { ...nothing, shows: "Unauthorized" }, { through: "here" }, true],
  ["whose connection was not there", { ...nothing, shows: "ConnectionNotFound" }, { through: "here" }, true],
  ["whose service does not answer", nothing, { isUnreachable: true, through: "here" }, true],
  ["that had an endpoint before its service ceased to answer", {}, { isUnreachable: true }, false],
])("a Compute %s is an outsider or not", (_, fields, { isUnreachable = false, through }, expected) => {
  const connections = { isUnreachable: () => isUnreachable, reachedThrough: () => through };
  expect(isOutsider(compute(fields), connections)).toBe(expected);
});
