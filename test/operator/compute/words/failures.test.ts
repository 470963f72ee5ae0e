import { describe, expect, test } from "vitest";
import { meaningOf } from "../../../../src/operator/compute/words/failures.ts";
import type { Failure } from "../../../../src/operator/service-client/answer.ts";

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
