import { describe, expect, test } from "vitest";
import { refusedPatch } from "../../../../src/operator/compute/execute/deferred.ts";
import { ClusterError, ClusterUnreachable } from "../../../../src/operator/kube/errors.ts";
import { compute } from "../../../support/builders.ts";

describe("a patch of a Compute that the API server does not accept", () => {
  const self = compute();
  const answered = (status: number, reason: string, subject = "shop") =>
    new ClusterError({ status, reason, subject, message: "too large" });

  test.each([
    ["a policy refuses it", answered(403, "Forbidden"), "Forbidden"],
    ["its annotations are too large", answered(422, "Invalid"), "Rejected"],
  ])("a refused patch is reported if %s, and sent again in ten seconds", (_, error, reason) => {
    expect(refusedPatch(error, self)).toMatchObject({
      condition: { kind: "shown", reason, message: expect.stringContaining("too large") },
      requeue: { kind: "after", ms: 10_000 },
    });
  });

  test.each([
    ["somebody else wrote first", answered(409, "Conflict")],
    ["the view was old", answered(422, "Invalid", "")],
    ["the API server fails", answered(500, "InternalError")],
    ["no answer came", new ClusterUnreachable("connection reset")],
  ])("a refused patch is only repeated if %s", (_, error) => {
    expect(() => refusedPatch(error, self)).toThrow(error);
  });
});
