import { describe, expect, test } from "vitest";
import { uses } from "../../../src/operator/branch/users.ts";
import type { ComputeStatus, WriteRecord } from "../../../src/operator/resources/compute.ts";
import type { ConnectionUser } from "../../../src/operator/resources/connection-user.ts";
import { API_VERSION } from "../../../src/operator/resources/names.ts";
import { type ComputeFields, compute, recordOf, uidOf } from "../../support/builders.ts";
import { branch } from "./builders.ts";

const pullRequest = branch({ name: "pr-1", linked: "br-one" });

/** A Compute whose endpoint was last seen on the branch, though its spec names another. */
function standing(fields: ComputeFields = {}) {
  const status = { endpointID: "ep-one", branchID: "br-one", ...fields.status };
  return compute({ uid: uidOf("c"), ...fields, status });
}

/** A Compute with an open record; its endpoint was last seen on another branch. */
function sending(record: Partial<WriteRecord>, seen: ComputeStatus = { endpointID: "ep-one", branchID: "br-two" }) {
  const uid = uidOf("c");
  return compute({ uid, status: { ...seen, pendingWrite: recordOf({ uid, branchID: "br-two", ...record }) } });
}

/** Two connections lead to one service, one to another, and the rest are not there. */
const serviceOf = ({ spec: { connectionRef } }: ConnectionUser) =>
  new Map([
    ["default", "https://one"],
    ["second", "https://one"],
    ["other", "https://other"],
  ]).get(connectionRef.name);
const context = { serviceOf, wallNow: Date.parse("2026-01-03T00:00:00Z") };

/** A Compute on the branch that names a Branch with this uid as its owner. */
function ownedBy(uid: string) {
  const owned = standing();
  const ownerReferences = [{ apiVersion: API_VERSION, kind: "Branch", name: "pr-1", uid }];
  return { ...owned, metadata: { ...owned.metadata, ownerReferences } };
}

describe("a Branch is used by", () => {
  test.each([
    ["a Compute that names it", compute({ spec: { branchID: undefined, branchRef: { name: "pr-1" } } })],
    ["a Compute whose endpoint is on its branch and has to move away", standing()],
    ["a Compute that names its branch by id", standing({ spec: { branchID: "br-one" } })],
    ["a Compute that goes and is paused", standing({ deleting: true, annotations: { paused: "true" } })],
    ["a Compute of another connection to the same service", standing({ spec: { connectionRef: { name: "second" } } })],
    ["a Compute of a connection that is not there", standing({ spec: { connectionRef: { name: "absent" } } })],
    ["a Compute of a former Branch of its name", ownedBy(uidOf("b"))],
    ["a Compute whose endpoint an unanswered move may bring", sending({ operation: "move", to: "br-one" })],
    ["a Compute that an unanswered create may give an endpoint there", sending({ branchID: "br-one" }, undefined)],
    [
      "a Compute that is made again there",
      sending({ branchID: "br-one" }, { endpointID: "ep-old", branchID: "br-one", gone: "ep-old" }),
    ],
  ])("%s", (_, user) => expect(uses(user, pullRequest, context)).toBe(true));
});

describe("a Branch is not used by", () => {
  test.each([
    ["its own Compute", ownedBy(uidOf("a"))],
    ["a Compute that is being deleted", standing({ deleting: true })],
    [
      "a Compute that is being deleted and was paused until a time that has come",
      standing({ deleting: true, annotations: { paused: "2026-01-02T00:00:00Z" } }),
    ],
    ["a Compute of another namespace", standing({ namespace: "others" })],
    ["a Compute on another branch", standing({ status: { branchID: "br-two" } })],
    ["a Compute of another project with a branch of the same id", standing({ spec: { projectID: "other" } })],
    [
      "a Compute of another service with a branch of the same id",
      standing({ spec: { connectionRef: { name: "other" } } }),
    ],
    ["a Compute with a move to another branch", sending({ operation: "move", to: "br-three" })],
    ["a Compute with a restart from before a move", sending({ operation: "restart", branchID: "br-one" })],
    ["a Compute with the record of another", sending({ uid: uidOf("d"), operation: "move", to: "br-one" })],
    ["a Compute whose endpoint is proved gone", standing({ status: { gone: "ep-one" } })],
    [
      "a Compute without an endpoint that names another Branch",
      compute({ spec: { branchID: undefined, branchRef: { name: "pr-2" } } }),
    ],
  ])("%s", (_, other) => expect(uses(other, pullRequest, context)).toBe(false));
});

test("a Branch whose own connection is not there is used by the Computes on its branch", () => {
  const unknown = { ...context, serviceOf: () => undefined };
  expect(uses(standing({ spec: { connectionRef: { name: "other" } } }), pullRequest, unknown)).toBe(true);
});

test("no Compute is on a Branch without a branch", () => {
  expect(uses(standing(), branch(), context)).toBe(false);
});
