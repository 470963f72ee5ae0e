import { expect } from "vitest";
import { type ComputeFields, compute, uidOf } from "../../support/builders.ts";

export const older = "2025-01-01T00:00:00Z";
export const younger = "2027-01-01T00:00:00Z";

/** Another Compute of the cluster, in another namespace, of the same project. */
export function other(fields: ComputeFields = {}) {
  return compute({ uid: uidOf("b"), name: "other", namespace: "others", ...fields });
}

/** The step of a Compute in whose way another stands. */
export const conflict = (text = "others/other") => ({
  kind: "blocked",
  reason: "Conflict",
  message: expect.stringContaining(text),
});
