import { claimOnBranch } from "../observe/claims.ts";
import { type EndpointSnapshot, type PlanInput, who } from "../observe/plan-input.ts";
import { conflict, moving, primaryExists } from "../status/messages/conditions.ts";
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
    return { kind: "wait", reason: "Moving", message: moving.earlierCreate, requeueAfterMs: 5000 };
  }
  const claim = claimOnBranch(compute, claimants, list.endpoints);
  const { branchID } = compute.spec;
  switch (claim.kind) {
    case "free":
      return undefined;
    case "taken":
      return { kind: "blocked", reason: "Conflict", message: conflict.moveTaken(who(claim.by), branchID) };
    case "swap":
      return { kind: "blocked", reason: "Conflict", message: conflict.swap(who(claim.by)) };
    case "leaving":
      return { kind: "wait", reason: "Moving", message: moving.branchHeld(who(claim.by), branchID) };
    case "unowned":
      return { kind: "blocked", reason: "PrimaryExists", message: primaryExists.move(branchID, claim.endpoint.id) };
  }
}
