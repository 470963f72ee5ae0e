import { describe, expect, test } from "vitest";
import { changing, meaningOf, refusalOfNote } from "../../../../src/operator/compute/execute/failures.ts";
import { ClusterError, ClusterUnreachable } from "../../../../src/operator/kube/errors.ts";
import type { Failure } from "../../../../src/operator/service-client/answer.ts";
import { compute } from "../../../support/builders.ts";

const refused = (code: string, message = "no"): Failure => ({ kind: "refused", status: 409, code, message });

describe("a failed call means for the Compute", () => {
  test.each<[string, Failure, string]>([
    ["unauthorized", { kind: "unauthorized", message: "no" }, "Unauthorized"],
    ["forbidden", { kind: "forbidden", message: "no" }, "Forbidden"],
    ["superseded", { kind: "superseded", message: "no" }, "ConnectionNotReady"],
    ["busy", { kind: "busy", message: "no" }, "ProjectBusy"],
    ["not ready", { kind: "notReady", message: "no" }, "ProjectBusy"],
    ["rate limited", { kind: "rateLimited", message: "no" }, "RateLimited"],
    ["unavailable", { kind: "unavailable", message: "no" }, "ServiceUnavailable"],
    ["ambiguous", { kind: "ambiguous", message: "no" }, "ServiceUnavailable"],
    ["refused with any code", refused("SOMETHING"), "Rejected"],
    [
      "refused with the code of a second primary, in whatever words",
      refused("ENDPOINTS_LIMIT_EXCEEDED"),
      "PrimaryExists",
    ],
    ["refused for what already exists, with whatever code", refused("", "endpoint already exists"), "PrimaryExists"],
    ["a branch that is not found", { kind: "notFound", message: "Branch not found" }, "BranchNotFound"],
    ["a project that is not found", { kind: "notFound", message: "project not found" }, "ProjectNotFound"],
    [
      "an endpoint that a list showed just now",
      { kind: "notFound", message: "Endpoint not found" },
      "ServiceUnavailable",
    ],
  ])("%s", (_, failure, reason) => {
    expect(meaningOf(failure, "create the endpoint").reason).toBe(reason);
  });
});

test("a change that moves names the branch, which may be what is missing; another does not", () => {
  const self = compute({ spec: { branchID: "br-next" } });
  expect(changing(self, { endpointID: "ep-one", fields: ["branchID"] })).toContain("to branch br-next");
  expect(changing(self, { endpointID: "ep-one", fields: ["disabled"] })).toBe("change endpoint ep-one");
});

describe("a patch of a Compute that the API server does not take", () => {
  const answered = (status: number, reason: string, subject = "shop") =>
    new ClusterError({ status, reason, subject, message: "too large" });

  test.each([
    ["a policy refuses it", answered(403, "Forbidden"), "Forbidden"],
    ["its annotations are too large", answered(422, "Invalid"), "Rejected"],
  ])("is told where %s", (_, error, reason) => {
    expect(refusalOfNote(error)).toMatchObject({ reason, message: expect.stringContaining("too large") });
  });

  test.each([
    ["somebody else wrote first", answered(409, "Conflict")],
    ["the view was old", answered(422, "Invalid", "")],
    ["the API server fails", answered(500, "InternalError")],
    ["no answer came", new ClusterUnreachable("connection reset")],
  ])("is only repeated where %s", (_, error) => {
    expect(refusalOfNote(error)).toBeUndefined();
  });
});
