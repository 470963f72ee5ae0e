import type { Endpoint } from "../../api/endpoint.ts";
import { ownerOf } from "../../operator/compute/observe/claims.ts";
import type { Observed } from "../../operator/compute/observe/observation.ts";
import { type Action, isWrite } from "../../operator/compute/plan/action.ts";
import { uidOfMarker } from "../../operator/resources/signature.ts";
import { isDerivedUID } from "../manifests/declared.ts";

// An operator in a cluster names its endpoints after uids that a manifest from Git does not have. Without the cluster's
// objects nobody knows which Compute such an endpoint belongs to, so a create could make a second one.

/** The most endpoint ids in a message. */
const mostNamed = 5;

const cure =
  "Name its cluster with --kubeconfig or --context; if that operator is gone, adopt the endpoint by id (export writes the manifests)";

/**
 * Refuses an action that would duplicate or change the endpoint of a Compute that no manifest has, and for a command
 * that writes to the service, any write for a Compute that a cluster holds.
 */
export function leftToOperator<T extends Action>(
  action: T,
  o: Observed,
  leavesToCluster: boolean,
): T | Extract<Action, { kind: "blocked" }> {
  if (leavesToCluster && isWrite(action) && !isDerivedUID(o.compute.metadata.uid)) {
    return refused(
      "Conflict",
      "This Compute is in a cluster, whose operator keeps it, so apply sends nothing for it. Apply its manifest with kubectl.",
    );
  }
  const unknown = endpointsOfUnknownUID(o);
  if (unknown.length === 0) return action;
  const { projectID, branchID } = o.compute.spec;
  if (action.kind === "blocked" && action.reason === "PrimaryExists") {
    const primary = unknown.find((endpoint) => endpoint.branch_id === branchID && endpoint.type === "read_write");
    if (primary === undefined) return action;
    const by = isKeptByOperator(primary)
      ? `A running operator keeps the primary of branch ${branchID} for a Compute that these manifests do not contain. ${cure}`
      : `The primary of branch ${branchID} was created by apply for a Compute that these manifests do not contain, perhaps under its former name. Add that manifest, or set spec.adopt to {branchPrimary: true} to take it over`;
    return refused("PrimaryExists", `${by}: ${primary.id}.`);
  }
  const kept = unknown.filter(isKeptByOperator);
  if (action.kind === "create") {
    const unplaced = kept.filter(({ id }) => !isAdoptedByID(o, id));
    if (unplaced.length === 0) return action;
    return refused(
      "Conflict",
      `A running operator keeps computes of project ${projectID} for Computes that these manifests do not contain, and one may be this one, so nothing is created. ${cure}: ${namesOf(unplaced)}.`,
    );
  }
  if (isWrite(action) && kept.some(({ id }) => id === action.endpointID)) {
    return refused(
      "Conflict",
      `A running operator keeps this endpoint for a Compute that these manifests do not contain, so nothing is written to it. Change that Compute in its cluster; if the operator is gone, give the endpoint another name at the service first: ${action.endpointID}.`,
    );
  }
  return action;
}

function refused(reason: "Conflict" | "PrimaryExists", message: string): Extract<Action, { kind: "blocked" }> {
  return { kind: "blocked", reason, message };
}

/** The endpoints with the marker of a uid that no manifest has. */
function endpointsOfUnknownUID(o: Observed): Endpoint[] {
  if (o.kind !== "observed") return [];
  return o.endpoints.all.filter(({ name = "" }) => {
    const uid = uidOfMarker(name);
    return uid !== undefined && o.claimants.byUID(uid) === undefined;
  });
}

/** For endpoints with a marker: `apply` derives its uids, an API server creates random ones. */
function isKeptByOperator({ name = "" }: Endpoint): boolean {
  return !isDerivedUID(uidOfMarker(name) ?? "");
}

function isAdoptedByID({ claimants }: Observed, endpointID: string): boolean {
  return claimants
    .inProject()
    .some(({ spec: { adopt } }) => adopt !== undefined && "endpointID" in adopt && adopt.endpointID === endpointID);
}

function namesOf(endpoints: readonly Endpoint[]): string {
  const ids = endpoints.map(({ id }) => id).toSorted();
  const more = ids.length - mostNamed;
  return ids.slice(0, mostNamed).join(", ") + (more > 0 ? ` and ${more} more` : "");
}

/**
 * Read replicas that an earlier apply may have created for this Compute, if the service has not shown yet that it keeps
 * names: without a name, on the same branch, and not claimed by a manifest. (The service itself refuses a second
 * primary.)
 */
export function unownedReplicasLike(o: Observed): string[] {
  if (o.kind !== "observed" || o.compute.spec.type !== "read_only") return [];
  const { compute, claimants, endpoints, markers } = o;
  if (markers === "shown" || endpoints.all.some(({ name }) => name !== undefined)) return [];
  return endpoints.all
    .filter(({ branch_id, type }) => branch_id === compute.spec.branchID && type === "read_only")
    .filter((endpoint) => ownerOf(endpoint, claimants, endpoints) === undefined)
    .map(({ id }) => id)
    .toSorted();
}
