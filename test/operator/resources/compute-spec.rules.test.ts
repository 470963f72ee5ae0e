import { describe, expect, test } from "vitest";
import { brokenInBranch, parseBranch } from "../../../src/operator/resources/branch.ts";
import { parseCompute } from "../../../src/operator/resources/compute.ts";
import { parseComputePool } from "../../../src/operator/resources/compute-pool.ts";
import { brokenWhenWritten } from "../../../src/operator/resources/compute-spec.ts";
import { brokenZones } from "../../../src/operator/resources/schedule.ts";
import { parseServiceConnection } from "../../../src/operator/resources/service-connection.ts";
import { type Fields, type Kind, manifest } from "./manifest.ts";
import { celCases, fieldCases } from "./rule-cases.ts";

const parsers = {
  Compute: parseCompute,
  ServiceConnection: parseServiceConnection,
  ComputePool: parseComputePool,
  Branch: parseBranch,
};

/** Empty where the manifest passes. */
function problemOf(kind: Kind, fields: Fields): string {
  const read = parsers[kind](manifest(kind, fields));
  if (!read.ok) return read.problem;
  const { spec } = read.value;
  const written = "template" in spec ? spec.template : "projectID" in spec ? spec : {};
  if ("baseURL" in spec)
    return brokenZones(spec)
      .map(({ message }) => message)
      .join();
  const broken = "expiry" in spec ? brokenInBranch(spec) : brokenWhenWritten(written);
  return broken.map(({ message }) => message).join();
}

describe("a manifest is refused without an API server too", () => {
  test.each([...fieldCases, ...celCases])("$kind: $rule", ({ kind, refused, passes }) => {
    expect(problemOf(kind, passes)).toBe("");
    expect(problemOf(kind, refused)).not.toBe("");
  });

  test.each(celCases.filter(({ message }) => !/^(adopt|disruption) takes/.test(String(message))))(
    "a manifest is refused with the API server's words: $rule",
    ({ kind, refused, message }) => {
      expect(problemOf(kind, refused)).toMatch(message);
    },
  );
});
