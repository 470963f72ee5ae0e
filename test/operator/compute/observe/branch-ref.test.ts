import { expect, test } from "vitest";
import { referredBranch } from "../../../../src/operator/compute/observe/branch-ref.ts";
import { compute } from "../../../support/builders.ts";
import { branch } from "../../branch/builders.ts";

const conditions = (status: string) => [
  { type: "Ready", status, reason: "Any", message: "", lastTransitionTime: "2026-01-01T00:00:00Z" },
];
const usable = { linked: "br-pr", status: { conditions: conditions("True") } };
const gone = { branchID: "br-pr", how: "BranchLost", expiry: "never" };
const ended = { ...gone, how: "Expired" };
const over = conditions("True").map((one) => ({ ...one, type: "Expired", reason: "Expired" }));
const self = compute({ spec: { branchID: undefined, branchRef: { name: "pr" } } });
const connectedTo = (connectionRef: object) => ({ ...usable, spec: { connectionRef } });

test.each<[string, Parameters<typeof branch>[0] | undefined, string, string]>([
  ["absent", undefined, "BranchNotReady", 'This namespace has no Branch "pr"'],
  ["of another project", { ...usable, spec: { projectID: "other" } }, "Conflict", "has another projectID"],
  ["of another connection", connectedTo({ name: "other" }), "Conflict", "has another projectID or connectionRef"],
  [
    "of a connection of the same name and another kind",
    connectedTo({ kind: "ClusterServiceConnection", name: "default" }),
    "Conflict",
    "has another projectID or connectionRef",
  ],
  ["being deleted", { ...usable, deleting: true }, "BranchNotReady", "is being deleted"],
  ["one whose branch is lost", { ...usable, status: { ...usable.status, gone } }, "BranchNotReady", "is gone"],
  ["one that came to its end", { ...usable, status: { ...usable.status, gone: ended } }, "Expired", "Expired: Branch"],
  [
    "over before a branch was made",
    { status: { conditions: over } },
    "Expired",
    'Expired: Branch "pr" came to its end',
  ],
  ["without a branch yet", { status: usable.status }, "BranchNotReady", "is not ready"],
  ["not Ready", { linked: "br-pr", status: { conditions: conditions("False") } }, "BranchNotReady", "is not ready"],
])("a referred Branch that is %s cannot be used, and the message says why", (_, fields, reason, text) => {
  const named = fields === undefined ? undefined : branch({ name: "pr", ...fields });
  const message = expect.stringContaining(text);
  expect(referredBranch(self, named)).toEqual({ kind: "unusable", reason, message });
});

test("a referred Branch that is Ready is used by its branch's id, and a Compute that refers to none has none", () => {
  const known = { kind: "listed", ids: ["br-pr"], forMs: Number.POSITIVE_INFINITY };
  expect(referredBranch(self, branch({ name: "pr", ...usable }))).toEqual(known);
  expect(referredBranch(compute(), undefined)).toBeUndefined();
});
