import type { Endpoint } from "../../../api/endpoint.ts";
import { type Claimants, ownerOf } from "../../../operator/claims/claims.ts";
import { endpointNamedBy, ownershipOf } from "../../../operator/claims/ownership.ts";
import type { Observation, Observed } from "../../../operator/compute/observe/observation.ts";
import { type Action, isWrite } from "../../../operator/compute/plan/action.ts";
import { isBeingDeleted } from "../../../operator/objects/object.ts";
import { branchIDOf, type Compute } from "../../../operator/resources/compute.ts";
import { keyOf, signatureIn } from "../../../operator/resources/signature.ts";
import { isDerivedUID } from "../../manifests/derived-uid.ts";
import { firstFew } from "../messages.ts";
import type { CommandScope } from "../scope.ts";

// An operator in a cluster names its endpoints after uids that a manifest from Git does not have. Its cluster, or its
// fleet, shows which Compute such an endpoint belongs to. Without them a create could make a second one.

type Blocked = Extract<Action, { kind: "blocked" }>;

/**
 * Refuses an action that would duplicate or change the endpoint of a Compute that no manifest has, and for a command
 * that writes to the service, any write for a Compute that a cluster holds.
 */
export function leftToOperator<T extends Action>(action: T, o: Observed, scope: CommandScope): T | Blocked {
  if (action.kind === "blocked" && action.lacksFleet === true) return { ...action, message: formerNeedsFleet };
  // With its cluster, plan shows what the operator does.
  if (o.kind !== "observed" || (scope.cluster && !scope.writes)) return action;
  if (action.kind === "blocked" && action.reason === "PrimaryExists") return primaryOfOther(o, scope) ?? action;
  if (action.kind === "blocked" && action.reason === "AdoptionRefused") return otherTypeThanKept(o) ?? action;
  if (!isWrite(action)) return action;
  if (action.kind !== "create") return writeToOthers(action.endpointID, o, scope) ?? action;
  if (scope.writes && !isDerivedUID(o.compute.metadata.uid)) return refused("Conflict", inClusterOf("Compute"));
  return createBesideUnplaced(o, scope) ?? action;
}

const formerNeedsFleet =
  "spec.adopt.former finds what a former Compute of the same fleet created, so nothing is created without it. Set --fleet to the operator's, or remove spec.adopt.";

/** Refusal of a write for an object of a cluster. */
export function inClusterOf(kind: "Compute" | "Branch"): string {
  return `This ${kind} is in a cluster, whose operator keeps it, so apply sends nothing for it. Apply its manifest with kubectl.`;
}

/** The operator that keeps an endpoint, by its signature; `undefined`: none does. */
export function keeperOf({ name }: Endpoint): string | undefined {
  const { uid, fleet } = signatureIn(name) ?? {};
  return operatorOf(uid, fleet && `#${fleet}`);
}

/** The operator whose object has this uid; `undefined`: none has, because apply derived it. */
export function operatorOf(uid: string | undefined, fleet: string | undefined): string | undefined {
  if (uid === undefined || isDerivedUID(uid)) return undefined;
  return fleet === undefined ? "an operator" : `the operator of fleet ${fleet}`;
}

/** Without the cluster the signature alone links the endpoint, and tells that the API server refuses the manifest. */
function otherTypeThanKept({ compute: { spec }, links }: Observation): Blocked | undefined {
  if (links.link?.proof !== "signature" || links.link.endpoint.type === spec.type) return undefined;
  const { id, type } = links.link.endpoint;
  return refused(
    "AdoptionRefused",
    `Endpoint ${id} of this namespace and name is of type ${type}, which cannot be changed to ${spec.type}. Declare the Compute under another name.`,
  );
}

/** A write to what an operator keeps, or to what was signed for another fleet. */
function writeToOthers(
  endpointID: string,
  { compute, endpoints }: Observation,
  scope: CommandScope,
): Blocked | undefined {
  const endpoint = endpoints.byID(endpointID);
  const { uid, fleet } = signatureIn(endpoint?.name) ?? {};
  const keeper = endpoint && keeperOf(endpoint);
  if (scope.writes && !isDerivedUID(compute.metadata.uid)) {
    if (scope.cluster || keeper === undefined || uid !== compute.metadata.uid)
      return refused("Conflict", inClusterOf("Compute"));
    return refused(
      "Conflict",
      `Endpoint ${endpointID} is kept by ${keeper}, so apply sends nothing for this Compute. Apply its manifest with kubectl.`,
    );
  }
  if (keeper !== undefined && uid !== compute.metadata.uid) {
    return refused(
      "Conflict",
      `Endpoint ${endpointID} is kept by ${keeper}, so nothing is written to it. Change its Compute in the cluster; if the operator is gone, give the endpoint another name at the service first.`,
    );
  }
  if (keeper !== undefined || fleet === undefined || fleet === scope.fleet) return undefined;
  return refused(
    "Conflict",
    `Endpoint ${endpointID} was signed for fleet #${fleet}, so nothing is written to it. Set --fleet to the name of that fleet.`,
  );
}

/** A primary in the way that a Compute made which is neither declared nor in the cluster. */
function primaryOfOther({ compute, claimants, endpoints }: Observation, scope: CommandScope): Blocked | undefined {
  const branchID = branchIDOf(compute);
  const primary = endpoints.primariesOf(branchID).find((endpoint) => isOfUnknown(endpoint, claimants));
  if (primary === undefined) return undefined;
  const keeper = keeperOf(primary);
  const said = (text: string) => refused("PrimaryExists", `The primary of branch ${branchID} (${primary.id}) ${text}.`);
  if (keeper === undefined) {
    return said(
      "was created by apply for a Compute that these manifests do not contain, perhaps under its former name. Add that manifest, or set spec.adopt to {branchPrimary: true} to take it over",
    );
  }
  if (mayBelongTo(compute, primary, scope)) {
    return said(`is kept by ${keeper}, and nothing shows for which Compute. ${remedyFor(primary, scope)}`);
  }
  return said(`is kept by ${keeper} for another Compute. Delete that Compute, or name another branch`);
}

/** Block for a create beside an endpoint that may be a declared Compute's own: it could make a second one. */
function createBesideUnplaced(o: Observation, scope: CommandScope): Blocked | undefined {
  const { compute, claimants, endpoints } = o;
  const without = [compute, ...claimants.inProject().filter((each) => isToBeCreated(each, o))];
  const unplaced = endpoints.all.filter(
    (endpoint) =>
      keeperOf(endpoint) !== undefined &&
      isOfUnknown(endpoint, claimants) &&
      !claimants.inProject().some((each) => endpointNamedBy(each) === endpoint.id) &&
      without.some((each) => mayBelongTo(each, endpoint, scope)),
  );
  const [first] = unplaced;
  if (first === undefined) return undefined;
  const keeper = keeperOf(first) ?? "";
  const sameKeeper = unplaced.filter((endpoint) => keeperOf(endpoint) === keeper);
  return refused(
    "Conflict",
    `Nothing is created in project ${compute.spec.projectID}, because a Compute of these manifests may have an endpoint there (${firstFew(sameKeeper.map(({ id }) => id).toSorted())}) that is kept by ${keeper}. ${remedyFor(first, scope)}.`,
  );
}

function isToBeCreated(compute: Compute, { endpoints }: Observation): boolean {
  return (
    isDerivedUID(compute.metadata.uid) && !isBeingDeleted(compute) && ownershipOf(compute, endpoints).link === undefined
  );
}

/**
 * True if an operator may have made an endpoint for this Compute. The key tells, where it is certain in which namespace
 * the Compute is; else branch and type have to.
 */
function mayBelongTo(compute: Compute, { name, branch_id, type }: Endpoint, { fleet, cluster }: CommandScope): boolean {
  const key = signatureIn(name)?.key;
  if (key !== undefined && (fleet !== undefined || cluster)) return key === keyOf(compute);
  return branch_id === branchIDOf(compute) && type === compute.spec.type;
}

/** Advice on finding an endpoint's owner, or on the way out where nothing shows it. */
function remedyFor(endpoint: Endpoint, { fleet, cluster }: CommandScope): string {
  const signed = signatureIn(endpoint.name)?.fleet;
  const adopting = "adopt the endpoint by id (export writes the manifests)";
  if (cluster) return `The cluster does not have that Compute; if its operator is gone, ${adopting}`;
  if (signed !== undefined && signed !== fleet) return "Set --fleet to the name of that fleet";
  return `Name its cluster with --kubeconfig or --context; if that operator is gone, ${adopting}`;
}

function refused(reason: "AdoptionRefused" | "Conflict" | "PrimaryExists", message: string): Blocked {
  return { kind: "blocked", reason, message };
}

/** True if an endpoint bears the signature of a Compute that is neither declared nor in the cluster. */
function isOfUnknown({ name }: Endpoint, claimants: Claimants): boolean {
  const signature = signatureIn(name);
  return signature !== undefined && claimants.byUID(signature.uid) === undefined;
}

/**
 * Read replicas that an earlier apply may have created for this Compute, if the service has not shown yet that it keeps
 * names: without a name, on the same branch, and not claimed by a manifest. (The service itself refuses a second
 * primary.)
 */
export function unownedReplicasLike(o: Observed): string[] {
  if (o.kind !== "observed" || o.compute.spec.type !== "read_only") return [];
  const { compute, claimants, endpoints } = o;
  if (endpoints.all.some(({ name }) => name !== undefined)) return [];
  return endpoints.all
    .filter(({ branch_id, type }) => branch_id === branchIDOf(compute) && type === "read_only")
    .filter((endpoint) => ownerOf(endpoint, claimants, endpoints) === undefined)
    .map(({ id }) => id)
    .toSorted();
}
