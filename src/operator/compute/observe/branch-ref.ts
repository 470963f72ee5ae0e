import { conditionOf, hasEnded } from "../../objects/conditions-of.ts";
import { isBeingDeleted } from "../../objects/object.ts";
import { sameJSON } from "../../objects/record.ts";
import type { Branch } from "../../resources/branch.ts";
import type { Compute } from "../../resources/compute.ts";
import { branchRef as messages } from "../words/branch.ts";
import type { ReferredBranch } from "./observation.ts";

/** Result of `spec.branchRef`; `undefined` where the spec has none. `branch`: of that name in the namespace. */
export function referredBranch({ spec }: Compute, branch: Branch | undefined): ReferredBranch | undefined {
  if (spec.branchRef === undefined) return undefined;
  const { name } = spec.branchRef;
  if (branch === undefined) return notReady(messages.absent(name));
  const { projectID, connectionRef } = branch.spec;
  if (projectID !== spec.projectID || !sameJSON(connectionRef, spec.connectionRef)) {
    return { kind: "unusable", reason: "Conflict", message: messages.elsewhere(name) };
  }
  const { branchID, gone } = branch.status;
  if (isBeingDeleted(branch)) return notReady(messages.deleted(name));
  if (gone?.how === "Expired" || hasEnded(branch)) {
    return { kind: "unusable", reason: "Expired", message: messages.expired(name) };
  }
  if (gone !== undefined) return notReady(messages.ended(name));
  if (branchID === undefined || conditionOf(branch.status, "Ready")?.status !== "True") {
    return notReady(messages.notReady(name));
  }
  return { kind: "listed", ids: [branchID], forMs: Number.POSITIVE_INFINITY };
}

function notReady(message: string): ReferredBranch {
  return { kind: "unusable", reason: "BranchNotReady", message };
}
