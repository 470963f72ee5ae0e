import { type Endpoint, hasUnreadableName } from "../../api/endpoint.ts";
import { couldBeEndpointId } from "../../api/ids.ts";
import { type Facts, type Shown, type Stop, stopOf } from "../life/guard.ts";
import { declaresRetain } from "../objects/deletion-policy.ts";
import { isBeingDeleted, olderFirst } from "../objects/object.ts";
import { branchIDOf, type Compute } from "../resources/compute.ts";
import { annotations } from "../resources/names.ts";
import { signatureOf } from "../resources/signature.ts";
import { hourlyMs } from "../runtime/waits.ts";
import type { ReadonlyState } from "./memory.ts";
import { type Observation, type Observed, who } from "./observe/observation.ts";
import { type Action, isWrite, type WriteAction } from "./plan/action.ts";
import { letGo } from "./plan/delete.ts";
import { released } from "./words/deletion.ts";

// The facts that the last guard needs of a Compute. They are read from its metadata, spec and status, from names and
// places in the list, and from the Computes that name the same endpoint or branch. `links`, and the rules' proofs and
// claims, are not used: a defect in them would be believed twice.

/** The stop of a planned write that lacks proof or claim; `undefined`: the action passes. */
export function guard(action: Action, o: Observed, s: ReadonlyState): Stop | undefined {
  if (!isWrite(action)) return undefined;
  const onlyObserves = o.compute.spec.managementPolicy === "Observe";
  return stopOf({ ...factsOf(action, o, s), onlyObserves }, isBeingDeleted(o.compute));
}

/** The action in place of a stopped write: a condition, or for `Retain` the release that it asks for all the same. */
export function insteadOf(action: Action, { message }: Stop, o: Observed, s: ReadonlyState): Action {
  if (declaresRetain(o.compute)) {
    return letGo(released.retained("endpointID" in action ? action.endpointID : undefined), o, s);
  }
  // A deletion that waits is let go once the CRD itself goes.
  const kind = isBeingDeleted(o.compute) ? "wait" : "blocked";
  return { kind, reason: "Conflict", message, requeueAfterMs: hourlyMs };
}

function factsOf(action: WriteAction, o: Observed, s: ReadonlyState): Facts {
  const target = action.kind === "create" ? branchIDOf(o.compute) : action.endpointID;
  const write = writeOf(action, o.compute);
  // An endpoint that no list shows is nobody's.
  if (o.kind !== "observed") return { write, target, shown: "stranger" };
  if (action.kind === "create") {
    const { branch_id: branchID, type, name } = action.attributes;
    const isDeclared = branchID === branchIDOf(o.compute) && type === o.compute.spec.type;
    const shown = isDeclared && uidIn(name) === o.compute.metadata.uid ? absence(o) : "stranger";
    return { write, target, shown, rival: rivalOnBranch(branchID, o), isOpen: isOpen(o, s) };
  }
  const endpoint = o.endpoints.all.find(({ id }) => id === action.endpointID);
  if (endpoint === undefined) return { write, target, shown: "stranger" };
  const facts = { write, target, rival: rivalFor(endpoint, o) };
  switch (action.kind) {
    case "sign": {
      if (uidIn(action.name) !== o.compute.metadata.uid) return { ...facts, shown: "stranger" };
      if (!action.takesOver) return { ...facts, shown: shownOf(endpoint, o, s) };
      const rival = facts.rival ?? wisherFor(endpoint, o);
      return { ...facts, shown: isOfFormerCompute(endpoint, o) ? "former" : "stranger", rival, isOpen: isOpen(o, s) };
    }
    case "patch": {
      const { branch_id: to } = action.attributes;
      const rival = facts.rival ?? (to === undefined ? undefined : rivalOnBranch(to, o, endpoint));
      return { ...facts, shown: shownOf(endpoint, o, s), rival };
    }
    case "restart":
      return { ...facts, shown: shownOf(endpoint, o, s) };
    case "rotate":
      return {
        ...facts,
        target: action.role,
        shown: isOwnRole(action, endpoint, o) ? shownOf(endpoint, o, s) : "stranger",
      };
    case "delete":
      return { ...facts, shown: shownOfDeleted(endpoint, o, s), isRetained: declaresRetain(o.compute) };
  }
}

function writeOf(action: WriteAction, compute: Compute): Facts["write"] {
  switch (action.kind) {
    case "create":
      return "endpoint create";
    case "sign":
      return action.takesOver ? "endpoint takeover" : "endpoint sign";
    case "patch":
      return action.attributes.branch_id === undefined ? "endpoint patch" : "endpoint move";
    case "restart":
      return "endpoint restart";
    case "rotate":
      return "role reset";
    case "delete":
      return isBeingDeleted(compute) ? "endpoint delete" : "endpoint surplus";
  }
}

/** The uid in a name that is a signature, in a fleet or not. */
function uidIn(name: string | undefined): string | undefined {
  const found = /^k8s-(?:[0-9a-f]{8}-[0-9a-f]{16}-([0-9a-f]{32})|([0-9a-f-]+))$/.exec(name ?? "");
  return found?.[1]?.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5") ?? found?.[2];
}

/** The id of the endpoint that a Compute is linked to, unless that is proved gone. */
function linkIn({ metadata, status: { endpointID, gone } }: Compute): string | undefined {
  const noted = metadata.annotations?.[annotations.endpointID];
  const id = noted === undefined || noted === gone ? endpointID : noted;
  return id !== undefined && id !== gone && couldBeEndpointId(id) ? id : undefined;
}

/** The evidence of whose an endpoint is, for this Compute. */
function shownOf(endpoint: Endpoint, { compute }: Observation, s: ReadonlyState): Shown {
  const { uid } = compute.metadata;
  const signer = uidIn(endpoint.name);
  if (signer === uid) return "signature";
  const { proof } = compute.status;
  const { made, record } = s.write ?? {};
  const answered = made === endpoint.id && (record?.operation === "create" || record?.operation === "takeover");
  const isKnown = proof?.endpointID === endpoint.id && proof.by !== "adopted";
  if (signer !== undefined && (isKnown || (answered && proof?.endpointID !== endpoint.id))) return "foreign";
  return proofWithout(endpoint, compute);
}

/** The same for any Compute, of an endpoint that bears no signature of it. */
function proofWithout(endpoint: Endpoint, compute: Compute): "created" | "adopted" | "none" | "stranger" {
  const { metadata, spec, status } = compute;
  const { proof } = status;
  const by = proof?.uid === metadata.uid && proof.endpointID === endpoint.id ? proof.by : undefined;
  if (by !== undefined && by !== "adopted" && endpoint.name === undefined) return "created";
  if (endpoint.type !== spec.type) return "stranger";
  const { adopt } = spec;
  if (adopt !== undefined && "endpointID" in adopt && adopt.endpointID === endpoint.id) return "adopted";
  const isPrimary = endpoint.type === "read_write" && (by === "adopted" || endpoint.branch_id === branchIDOf(compute));
  if (adopt !== undefined && "branchPrimary" in adopt && isPrimary) return "adopted";
  return linkIn(compute) === endpoint.id ? "none" : "stranger";
}

/** True for a role that the spec names, on the branch whose primary the endpoint is; of two not the one in use. */
function isOwnRole(
  { role, branchID }: Extract<WriteAction, { kind: "rotate" }>,
  { type, branch_id }: Endpoint,
  { compute: { spec }, secret }: Observation,
): boolean {
  const { role: one, roles = one === undefined ? [] : [one] } = spec.connectionSecret ?? {};
  const isInUse = roles.length > 1 && secret?.record.role === role;
  return type === "read_write" && branch_id === branchID && roles.includes(role) && !isInUse;
}

/**
 * The same for a DELETE. What was adopted is deleted only where the spec says so. While the Compute is not deleted
 * itself, only a surplus goes: one that bears our signature beside another that does, and that is not the one linked.
 */
function shownOfDeleted(endpoint: Endpoint, o: Observation, s: ReadonlyState): Shown {
  const { compute, endpoints } = o;
  const shown = shownOf(endpoint, o, s);
  if (isBeingDeleted(compute)) {
    return shown === "adopted" && compute.spec.deletionPolicy !== "Delete" ? "none" : shown;
  }
  const isKept =
    linkIn(compute) === endpoint.id && compute.metadata.annotations?.[annotations.endpointID] !== undefined;
  const isBeside = endpoints.all.some(({ id, name }) => id !== endpoint.id && uidIn(name) === compute.metadata.uid);
  return isBeside && !isKept ? shown : "none";
}

/** A create needs that nothing of this Compute is listed, and that what it was linked to is proved gone. */
function absence({ compute, endpoints }: Observation): Shown {
  const { uid } = compute.metadata;
  const isThere = endpoints.all.some(
    (endpoint) => uidIn(endpoint.name) === uid || proofWithout(endpoint, compute) === "created",
  );
  return isThere || isBeingDeleted(compute) || linkIn(compute) !== undefined ? "stranger" : "absent";
}

/** A takeover needs `adopt.former`, one endpoint with fleet and key and the wrong uid, and no endpoint before. */
function isOfFormerCompute(endpoint: Endpoint, { compute, endpoints, fleet }: Observation): boolean {
  const { spec, status } = compute;
  if (fleet === undefined || spec.adopt === undefined || !("former" in spec.adopt)) return false;
  const wasLinked = [linkIn(compute), status.endpointID, status.gone, status.proof].some((one) => one !== undefined);
  const own = signatureOf(compute, fleet);
  const bears = ({ name = "" }: Endpoint) =>
    name !== own && name.startsWith(own.slice(0, -32)) && name.length === own.length;
  const isOnly = endpoints.all.filter(bears).length === 1;
  const fits = endpoint.type === spec.type && endpoint.branch_id === branchIDOf(compute);
  return !wasLinked && isOnly && bears(endpoint) && fits;
}

/** A create or takeover that may still take effect: the record of the status counts too, until it is remembered. */
function isOpen({ compute: { metadata, status } }: Observation, { write }: ReadonlyState): boolean {
  const makes = (operation: string | undefined) => operation === "create" || operation === "takeover";
  if (write !== undefined) return write.phase === "open" && makes(write.record.operation);
  return status.pendingWrite?.uid === metadata.uid && makes(status.pendingWrite.operation);
}

/** Another Compute whose claim on the endpoint is the better one: its signer, the better proof, then the older. */
function rivalFor(endpoint: Endpoint, o: Observation): string | undefined {
  const { compute, claimants } = o;
  const signer = claimants.byUID(uidIn(endpoint.name) ?? "");
  if (signer !== undefined) return isSelf(signer, compute) ? undefined : who(signer);
  const own = rankOf(proofWithout(endpoint, compute), endpoint);
  const rival = othersOn(endpoint, o).find((other) => {
    const rank = isLinkedTo(other, endpoint, o) ? rankOf(proofWithout(endpoint, other), endpoint) : wishes;
    return rank < wishes && (rank - own || olderFirst(other, compute)) < 0;
  });
  return rival && who(rival);
}

/** Another Compute that is to adopt the endpoint, and has none. */
function wisherFor(endpoint: Endpoint, o: Observation): string | undefined {
  const wisher = othersOn(endpoint, o).find(
    (other) =>
      linkIn(other) === undefined &&
      !isSigner(other, o) &&
      other.spec.type === endpoint.type &&
      branchIDOf(other) === endpoint.branch_id &&
      proofWithout(endpoint, other) === "adopted",
  );
  return wisher && who(wisher);
}

/** The rank of a Compute that has no more than a wish. */
const wishes = 3;

/** The less, the stronger. An unreadable name may be the one that proves a link. */
function rankOf(shown: ReturnType<typeof proofWithout>, endpoint: Endpoint): number {
  if (shown === "created") return 0;
  if (shown === "adopted") return 1;
  return shown === "none" ? (hasUnreadableName(endpoint) ? 1 : 2) : wishes;
}

/** The Computes that name the endpoint, or may adopt the primary of its branch. */
function othersOn(endpoint: Endpoint, { compute, claimants }: Observation): readonly Compute[] {
  const all = [...claimants.onEndpoint(endpoint.id), ...claimants.onBranch(endpoint.branch_id)];
  // One that only observes claims what it made.
  const claims = (other: Compute) =>
    other.spec.managementPolicy !== "Observe" || proofWithout(endpoint, other) === "created";
  return all.filter((other) => !isSelf(other, compute) && claims(other));
}

/** True if the endpoint is certainly the one that another Compute is linked to. */
function isLinkedTo(other: Compute, endpoint: Endpoint, o: Observation): boolean {
  const shown = proofWithout(endpoint, other);
  if (other.spec.type !== endpoint.type || shown === "stranger") return false;
  const link = linkIn(other);
  const hasOwn =
    isSigner(other, o) || o.endpoints.all.some((each) => each !== endpoint && proofWithout(each, other) === "created");
  if (link === undefined) return shown === "created" && !hasOwn;
  return link === endpoint.id && (shown !== "none" || !hasOwn);
}

/** True if a list shows the Compute's signature somewhere. */
function isSigner(compute: Compute, { endpoints }: Observation): boolean {
  return endpoints.all.some(({ name }) => uidIn(name) === compute.metadata.uid);
}

/**
 * The holder of an earlier claim on the primary of a branch, for a Compute of type read_write: the owner of a primary
 * that is there and is neither ours nor the endpoint that moves, or an older Compute that claims the branch.
 */
function rivalOnBranch(branchID: string, { compute, endpoints, claimants }: Observation, moved?: Endpoint) {
  if (compute.spec.type !== "read_write") return undefined;
  const { uid } = compute.metadata;
  const primary = endpoints.all.find(
    (each) =>
      each.type === "read_write" &&
      each.branch_id === branchID &&
      each.id !== moved?.id &&
      uidIn(each.name) !== uid &&
      proofWithout(each, compute) !== "created",
  );
  if (primary !== undefined) return `the owner of endpoint ${primary.id}`;
  const older = claimants
    .onBranch(branchID)
    .find((other) => !isSelf(other, compute) && !isBeingDeleted(other) && olderFirst(other, compute) < 0);
  return older && who(older);
}

function isSelf(other: Compute, compute: Compute): boolean {
  return other.metadata.uid === compute.metadata.uid;
}
