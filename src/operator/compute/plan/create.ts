import { type Endpoint, hasUnreadableName } from "../../../api/endpoint.ts";
import { owningPool } from "../../resources/compute-pool.ts";
import { markerOf } from "../../resources/names.ts";
import { claimOnBranch, claimOnEndpoint } from "../observe/claims.ts";
import { ownershipOf } from "../observe/ownership.ts";
import { pendingCreateOf } from "../observe/pending-operations.ts";
import { type EndpointSnapshot, type PlanInput, who } from "../observe/plan-input.ts";
import { adoptionRefused, conflict, creating, primaryExists } from "../status/messages/conditions.ts";
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
    return refused(adoptionRefused.notFound(view.compute.spec.projectID, adopt.endpointID));
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
    message: creating.perhapsOthers(who(maker), primary.id),
    requeueAfterMs: anothersCreateMs,
  };
}

function link(view: PlanInput, { id }: Endpoint): Action {
  return { kind: "link", endpointID: id, proof: "adopted", news: "adopted", ...markToKeep(view, "adopted") };
}

function misfit({ compute: { spec } }: PlanInput, target: Endpoint): Action | undefined {
  if (target.type !== spec.type) {
    return refused(adoptionRefused.otherType(target.type, spec.type, target.id));
  }
  if (target.branch_id !== spec.branchID) {
    return refused(adoptionRefused.otherBranch(target.branch_id, spec.branchID, target.id));
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
  if (claim.marked) return refused(adoptionRefused.createdBy(who(claim.by), target.id));
  return { kind: "blocked", reason: "Conflict", message: conflict.adopted(who(claim.by), target.id) };
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
      return { kind: "blocked", reason: "Conflict", message: conflict.branchTaken(who(claim.by), branchID) };
    case "leaving":
      return { kind: "wait", reason: "Creating", message: creating.branchHeld(who(claim.by), branchID) };
    case "unowned":
      return { kind: "blocked", reason: "PrimaryExists", message: primaryExists.create(branchID, claim.endpoint.id) };
  }
}
