import { expect, test } from "vitest";
import { isOutsider } from "../../../../src/operator/compute/observe/outsider.ts";
import { ApiKey, accountFingerprint } from "../../../../src/operator/service-client/account.ts";
import { type ComputeFields, compute, uidOf } from "../../../support/builders.ts";

const baseURL = "https://service/api/v2";
const seenAt = (url: string, key = "a-key") => ({
  status: { observedThrough: accountFingerprint({ baseURL: url, key: new ApiKey(key) }) },
});
const sentTo = (through: string) => {
  const record = { uid: uidOf("a"), n: 1, by: "a-term", since: "", branchID: "br-main", through };
  return { status: { observedThrough: undefined, pendingWrite: { ...record, operation: "create" } } };
};
const nothing = { status: { observedThrough: undefined } };

test.each<[string, ComputeFields, { isUnreachable?: boolean; through?: string }, boolean]>([
  ["whose connection has listed the project", nothing, { through: "here" }, false],
  ["whose connection has not listed the project yet", nothing, {}, true],
  ["that waits for an answer of the service", { ...nothing, shows: "RateLimited" }, {}, true],
  ["that reports what only a list can show", { ...nothing, shows: "PrimaryExists" }, {}, false],
  ["whose key was refused", { ...nothing, shows: "Unauthorized" }, { through: "here" }, true],
  ["whose connection was not there", { ...nothing, shows: "ConnectionNotFound" }, { through: "here" }, true],
  ["whose service does not answer", nothing, { isUnreachable: true, through: "here" }, true],
  ["that had an endpoint before its service ceased to answer", seenAt(baseURL), { isUnreachable: true }, false],
  ["that had an endpoint with another key", seenAt(baseURL, "former"), { isUnreachable: true }, false],
  ["that had an endpoint at another service", seenAt("https://own/api/v2"), { isUnreachable: true }, true],
  ["that had one at another service, and whose key has listed this", seenAt("https://own"), { through: "x" }, false],
  ["that sent a create before its service ceased to answer", sentTo(baseURL), { isUnreachable: true }, false],
  ["that sent a create to another service", sentTo("https://own/api/v2"), { isUnreachable: true }, true],
])("a Compute %s is an outsider or not", (_, fields, { isUnreachable = false, through }, expected) => {
  const connections = {
    baseURLOf: () => baseURL,
    isUnreachable: () => isUnreachable,
    reachedThrough: () => through,
  };
  expect(isOutsider(compute(fields), connections)).toBe(expected);
});

test("a Compute whose connection is gone had nothing at any service", () => {
  const connections = { baseURLOf: () => undefined, isUnreachable: () => false, reachedThrough: () => undefined };
  expect(isOutsider(compute(seenAt(baseURL)), connections)).toBe(true);
});
