import { conditionOf, readyLabel } from "../objects/conditions-of.ts";
import type { Branch } from "../resources/branch.ts";

/** The facts of a Branch that the Computes naming it read. */
export function factsForComputes({ metadata, status, spec }: Branch): string {
  const ready = readyLabel({ status });
  return JSON.stringify([
    status.branchID,
    ready,
    status.gone?.branchID,
    metadata.deletionTimestamp,
    spec.connectionRef,
  ]);
}

/** True once a reset of the branch is over: its roles may have other passwords. */
export function isReset(before: Branch, { status }: Branch): boolean {
  const isResetting = (one: Branch["status"]) => conditionOf(one, "Ready")?.reason === "Resetting";
  if (isResetting(status)) return false;
  return isResetting(before.status) || before.status.resetAt !== status.resetAt;
}
