import { type Endpoint, hasUnreadableName } from "../../../api/endpoint.ts";
import { claimOnBranch, claimOnEndpoint, otherMakerOf } from "../../claims/claims.ts";
import { attributesOf } from "../../fields/compare.ts";
import { branchIDOf } from "../../resources/compute.ts";
import { owningPool } from "../../resources/compute-pool.ts";
import { signatureOf } from "../../resources/signature.ts";
import { shortlyMs } from "../../runtime/waits.ts";
import { newestIn } from "../candidates.ts";
import { type Observation, who } from "../observe/observation.ts";
import { adoptionRefused, conflict, creating, primaryExists } from "../words/conditions.ts";
import { terminating } from "../words/failures.ts";
import type { Action, PlanRule } from "./action.ts";
import { inForce } from "./disruption.ts";
import { besideFormer, formerPrimary, takeOverFormer } from "./former.ts";

/** `spec.adopt`, used only until an endpoint is linked. Nothing is written to a target that does not fit. */
export const adoption: PlanRule = (o, s) => {
  const { adopt, projectID } = o.compute.spec;
  if (adopt === undefined || o.links.link !== undefined) return undefined;
  if ("former" in adopt) return takeOverFormer(o, s);
  if ("endpointID" in adopt) {
    const target = o.endpoints.byID(adopt.endpointID);
    if (target === undefined) return refused(adoptionRefused.notFound(projectID, adopt.endpointID));
    return taken(o, target) ?? mismatch(o, target) ?? link(target);
  }
  const [primary] = o.endpoints.primariesOf(branchIDOf(o.compute));
  if (primary === undefined) return undefined;
  return taken(o, primary) ?? perhapsOthers(o, primary) ?? link(primary);
};

/** A primary without a name may be what another Compute's open create made: then it belongs to that. */
function perhapsOthers({ compute, claimants, endpoints }: Observation, primary: Endpoint): Action | undefined {
  if (primary.name !== undefined && !hasUnreadableName(primary)) return undefined;
  const maker = otherMakerOf(primary, compute, claimants, endpoints);
  if (maker === undefined) return undefined;
  const message = creating.perhapsOthers(who(maker), primary.id);
  return { kind: "wait", reason: "Creating", message, requeueAfterMs: shortlyMs };
}

function link({ id }: Endpoint): Action {
  return { kind: "link", endpointID: id, proof: "adopted", news: "adopted" };
}

/** The target of `spec.adopt` is not where the Compute is to be. */
export function mismatch({ compute }: Observation, { id, type, branch_id }: Endpoint): Action | undefined {
  const branchID = branchIDOf(compute);
  if (type !== compute.spec.type) return refused(adoptionRefused.otherType(type, compute.spec.type, id));
  return branch_id === branchID ? undefined : refused(adoptionRefused.otherBranch(branch_id, branchID, id));
}

function taken({ compute, claimants, endpoints }: Observation, target: Endpoint): Action | undefined {
  const claim = claimOnEndpoint(compute, target, claimants, endpoints);
  if (claim.kind !== "taken") return undefined;
  if (claim.isSigned) return refused(adoptionRefused.createdBy(who(claim.by), target.id));
  return { kind: "blocked", reason: "Conflict", message: conflict.adopted(who(claim.by), target.id) };
}

function refused(message: string): Action {
  return { kind: "blocked", reason: "AdoptionRefused", message };
}

/** Creates the endpoint if nothing is linked, nothing may be adopted and the branch has room. */
export const creation: PlanRule = (o, s) => {
  const { compute, endpoints } = o;
  if (o.links.link !== undefined) return undefined;
  const { type } = compute.spec;
  const branchID = branchIDOf(compute);
  const blocked = type === "read_write" ? occupied(o) : undefined;
  if (blocked !== undefined) return blocked;
  if (o.terminating) {
    const message = terminating(owningPool(compute) !== undefined);
    return { kind: "wait", reason: "ConnectionNotReady", message };
  }
  const warning = besideFormer(o, s);
  if (warning !== undefined) return warning;
  return {
    kind: "create",
    attributes: { ...attributesOf(compute.spec), branch_id: branchID, type, name: signatureOf(compute, o.fleet) },
    newest: newestIn(endpoints.all),
    lost: compute.status.gone !== undefined,
    ...inForce(o),
  };
};

function occupied(o: Observation): Action | undefined {
  const { compute, claimants, endpoints } = o;
  const branchID = branchIDOf(compute);
  const claim = claimOnBranch(compute, claimants, endpoints);
  switch (claim.kind) {
    case "free":
      return undefined;
    case "taken":
    case "swap":
      return { kind: "blocked", reason: "Conflict", message: conflict.branchTaken(who(claim.by), branchID) };
    case "leaving":
      return { kind: "wait", reason: "Creating", message: creating.branchHeld(who(claim.by), branchID) };
    case "unowned":
      return {
        kind: "blocked",
        reason: "PrimaryExists",
        message: formerPrimary(o, claim.endpoint) ?? primaryExists.create(branchID, claim.endpoint.id),
      };
  }
}
