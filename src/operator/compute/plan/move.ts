import { claimOnBranch } from "../observe/claims.ts";
import { type EndpointSnapshot, type PlanInput, who } from "../observe/plan-input.ts";
import type { Action } from "./action.ts";
import type { Difference } from "./fields.ts";
import { anotherMayArrive } from "./pending.ts";

/** A primary moves onto a branch only when that is free. */
export function blockedMove(
  differences: readonly Difference[],
  view: PlanInput,
  list: EndpointSnapshot,
): Action | undefined {
  const { compute, claimants } = view;
  if (compute.spec.type !== "read_write" || !differences.some(({ field }) => field === "branchID")) return undefined;
  const { link } = list.links;
  // While it stands there, the service refuses what may yet arrive of an earlier POST.
  if (link !== undefined && anotherMayArrive(view, link.proof)) {
    const message = "Move deferred: an earlier create of this Compute may still take effect.";
    return { kind: "wait", reason: "Moving", message, requeueAfterMs: 5000 };
  }
  const claim = claimOnBranch(compute, claimants, list.endpoints);
  const { branchID } = compute.spec;
  switch (claim.kind) {
    case "free":
      return undefined;
    case "taken":
      return {
        kind: "blocked",
        reason: "Conflict",
        message: `The primary of branch ${branchID} is claimed by ${who(claim.by)}. The endpoint stays where it is: name another branch, or delete that Compute.`,
      };
    case "swap":
      return {
        kind: "blocked",
        reason: "Conflict",
        message: `This Compute and ${who(claim.by)} want each other's branch, and a branch has only one primary, so neither can move. Move one of them to a third branch first.`,
      };
    case "leaving":
      return {
        kind: "wait",
        reason: "Moving",
        message: `Waiting for ${who(claim.by)} to leave branch ${branchID}. The move follows.`,
      };
    case "unowned":
      return {
        kind: "blocked",
        reason: "PrimaryExists",
        message: `Branch ${branchID} has the primary ${claim.endpoint.id}, which no Compute owns: the endpoint cannot be moved there. Delete it at the service, or name another branch.`,
      };
  }
}
