import { type Endpoint, hasUnreadableName } from "../../../api/endpoint.ts";
import { owningPool } from "../../resources/compute-pool.ts";
import { markerOf } from "../../resources/names.ts";
import { claimOnBranch, claimOnEndpoint } from "../observe/claims.ts";
import { ownershipOf } from "../observe/ownership.ts";
import { pendingCreateOf } from "../observe/pending-operations.ts";
import { type EndpointSnapshot, type PlanInput, who } from "../observe/plan-input.ts";
import { connectionNotReady } from "../status/messages/failures.ts";
import type { Action } from "./action.ts";
import { attributesOf } from "./fields.ts";
import { markToKeep } from "./pending.ts";
import type { Rule } from "./rule.ts";

/** `spec.adopt`, read only while nothing is linked. Nothing is written to a target that does not fit. */
export const adoption: Rule = (view, list) => {
  const { adopt, branchID } = view.compute.spec;
  if (adopt === undefined || list.links.link !== undefined) return undefined;
  if ("endpointID" in adopt) {
    const target = list.endpoints.byID(adopt.endpointID);
    if (target !== undefined) return taken(view, list, target) ?? misfit(view, target) ?? link(view, target);
    return refused(
      `spec.adopt names endpoint ${adopt.endpointID}, which project ${view.compute.spec.projectID} does not have. Correct the id, or remove spec.adopt.`,
    );
  }
  const [primary] = list.endpoints.primariesOf(branchID);
  if (primary === undefined) return undefined;
  return taken(view, list, primary) ?? perhapsMade(view, list, primary) ?? link(view, primary);
};

/** How soon it is looked again what became of another's create, in milliseconds. */
const anothersCreateMs = 5_000;

/** Where no names are shown, the primary may be what another's pending create made: then it is that one's. */
function perhapsMade(
  { compute, claimants }: PlanInput,
  { markers, endpoints }: EndpointSnapshot,
  primary: Endpoint,
): Action | undefined {
  if (primary.name !== undefined || (markers === "shown" && !hasUnreadableName(primary))) return undefined;
  const maker = claimants
    .creatingOn(primary.branch_id, primary.type)
    .find((other) => other.metadata.uid !== compute.metadata.uid && ownershipOf(other, endpoints).link === undefined);
  if (maker === undefined) return undefined;
  return {
    kind: "wait",
    reason: "Creating",
    message: `Endpoint ${primary.id} may be the one that ${who(maker)} just created, because its name is not shown. It is adopted once that is ruled out.`,
    requeueAfterMs: anothersCreateMs,
  };
}

function link(view: PlanInput, { id }: Endpoint): Action {
  return { kind: "link", endpointID: id, proof: "adopted", news: "adopted", ...markToKeep(view, "adopted") };
}

function misfit({ compute: { spec } }: PlanInput, target: Endpoint): Action | undefined {
  if (target.type !== spec.type) {
    return refused(
      `Endpoint ${target.id}, which spec.adopt names, is of type ${target.type}, and spec.type is ${spec.type}. Name another endpoint, or make another Compute of that type.`,
    );
  }
  if (target.branch_id !== spec.branchID) {
    return refused(
      `Endpoint ${target.id}, which spec.adopt names, serves branch ${target.branch_id}, and spec.branchID is ${spec.branchID}. Name its branch to adopt it; move it afterwards.`,
    );
  }
  return undefined;
}

function taken(
  { compute, claimants }: PlanInput,
  { endpoints }: EndpointSnapshot,
  target: Endpoint,
): Action | undefined {
  const claim = claimOnEndpoint(compute, target, claimants, endpoints);
  if (claim.kind !== "taken") return undefined;
  if (claim.marked)
    return refused(
      `Endpoint ${target.id}, which spec.adopt names, belongs to ${who(claim.by)}, which created it. To take it over, delete that Compute with deletionPolicy: Retain; otherwise remove spec.adopt here.`,
    );
  return {
    kind: "blocked",
    reason: "Conflict",
    message: `Endpoint ${target.id} is claimed by ${who(claim.by)}, and only one Compute can own it. Delete that Compute, or remove spec.adopt here.`,
  };
}

function refused(message: string): Action {
  return { kind: "blocked", reason: "AdoptionRefused", message };
}

/** Makes the endpoint, where nothing is linked, nothing may be adopted and the branch has room. */
export const creation: Rule = (view, list) => {
  const { link: linked, missing } = list.links;
  if (linked !== undefined) return undefined;
  const { compute } = view;
  const { type, branchID } = compute.spec;
  const blocked = type === "read_write" ? occupied(view, list) : undefined;
  if (blocked !== undefined) return blocked;
  if (list.terminating) {
    const message = connectionNotReady.terminating(owningPool(compute) !== undefined);
    return { kind: "wait", reason: "ConnectionNotReady", message };
  }
  const pending = pendingCreateOf(compute);
  const named = list.markers === "shown" ? { named: true as const } : {};
  return {
    kind: "create",
    attributes: { branch_id: branchID, type, ...attributesOf(compute.spec), name: markerOf(compute.metadata.uid) },
    mark:
      pending?.branchID === branchID
        ? { ...pending, ...named }
        : {
            branchID,
            through: list.through,
            ...(missing === undefined ? {} : { replaces: missing }),
            ...named,
          },
    lost: missing !== undefined,
  };
};

function occupied({ compute, claimants }: PlanInput, list: EndpointSnapshot): Action | undefined {
  const { branchID } = compute.spec;
  const claim = claimOnBranch(compute, claimants, list.endpoints);
  switch (claim.kind) {
    case "free":
      return undefined;
    case "taken":
    case "swap":
      return {
        kind: "blocked",
        reason: "Conflict",
        message: `The primary of branch ${branchID} is claimed by ${who(claim.by)}, and a branch has only one. Delete either Compute, or name another branch.`,
      };
    case "leaving":
      return {
        kind: "wait",
        reason: "Creating",
        message: `Waiting for ${who(claim.by)} to leave branch ${branchID}. The endpoint is created then.`,
      };
    case "unowned":
      return {
        kind: "blocked",
        reason: "PrimaryExists",
        message: `Branch ${branchID} has the primary ${claim.endpoint.id}, which no Compute owns. To take it over, set spec.adopt to {branchPrimary: true} or {endpointID: ${claim.endpoint.id}}; to have a new one, delete it at the service.`,
      };
  }
}
