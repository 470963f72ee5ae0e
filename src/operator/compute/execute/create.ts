import type { Endpoint } from "../../../api/endpoint.ts";
import { guardedPatch } from "../../kube/json-patch.ts";
import { branchIDOf, type Compute } from "../../resources/compute.ts";
import { timestamp } from "../../resources/conditions-of.ts";
import { finalizers, annotations as keys } from "../../resources/names.ts";
import { sameJSON } from "../../resources/record.ts";
import { uidOfMarker } from "../../resources/signature.ts";
import type { Failure } from "../../service-client/answer.ts";
import type { Written } from "../../service-client/client.ts";
import type { PendingCreate } from "../observe/annotations.ts";
import { generationOf } from "../observe/observation.ts";
import { createdProof } from "../observe/ownership.ts";
import { type Outcome, shown } from "../outcome.ts";
import type { Action } from "../plan/action.ts";
import { inProgress } from "../status/messages/conditions.ts";
import { created as messages } from "../status/messages/events.ts";
import { requests } from "../status/messages/failures.ts";
import { recordAnswer } from "./answered.ts";
import type { ExecuteContext, ServiceAccess } from "./context.ts";
import { recordFailedWrite } from "./deferred.ts";
import { noted, patched, recordDisabling } from "./patch-metadata.ts";

type Create = Extract<Action, { kind: "create" }>;

/** Mark, POST, link: in this order, so that the next process after a crash knows that a POST may have been sent. */
export async function createEndpoint(action: Create, context: ExecuteContext, access: ServiceAccess): Promise<Outcome> {
  const { compute, state, clock, signal, cluster } = context;
  const { client, lister } = access;
  const recorded = await recordDisabling(action.attributes, context);
  const mark = markFor(action, context);
  state.createMarked(mark.posts ?? 1);
  const marked = await writeMark(mark, recorded, context);
  state.createMarked(undefined);
  const { observed } = lister;
  const answer = await client.createEndpoint(compute.spec.projectID, { endpoint: action.attributes }, signal);
  // An endpoint that was there already is not what this POST created.
  const wasThere = ({ id }: Endpoint) => observed?.endpoints.some((one) => one.id === id) === true;
  const answered = answer.kind === "ok" ? answer.value.endpoint : undefined;
  const endpoint = answered && isOfThis(action, answered) && !wasThere(answered) ? answered : undefined;
  recordAnswer(answer, { shows: endpoint, madeFor: compute.metadata.uid }, context, access);
  if (answer.kind === "ok" && endpoint !== undefined) {
    const proof = endpoint.name === action.attributes.name ? "marker" : "created";
    state.created(endpoint.id, proof, compute, mark.resent === true, clock.monotonic());
    const linked = await link(endpoint, proof, mark, marked, context);
    return created(action, { mark, marked, linked }, endpoint, answer.value.operations);
  }
  const failure: Failure =
    answer.kind === "ok" ? { kind: "ambiguous", message: "an answer to something else" } : answer;
  if (failure.kind === "ambiguous") state.createUnanswered(mark, clock.monotonic());
  // Also if the patch below fails, the same POST does not follow at once.
  const outcome = recordFailedWrite(action, failure, requests.create(branchIDOf(compute)), marked, context, access);
  if (failure.kind === "ambiguous") return outcome;
  // This POST did nothing. An earlier one may still take effect: only lists can tell, and its mark stays.
  const earlier = markBefore(mark, context);
  const patch = guardedPatch(marked).setAnnotation(keys.pendingCreate, earlier && JSON.stringify(earlier));
  return { ...outcome, compute: await patched(cluster, patch, marked) };
}

/**
 * Whether an answer shows what this POST made, and not an endpoint from before or of another Compute: a link to that
 * would one day delete it.
 */
function isOfThis({ attributes }: Create, { branch_id, type, name }: Endpoint): boolean {
  if (branch_id !== attributes.branch_id || type !== attributes.type) return false;
  return name === attributes.name || uidOfMarker(name ?? "") === undefined;
}

function markFor({ mark }: Create, { compute, annotations, clock, state }: ExecuteContext): PendingCreate {
  const { pendingCreate } = annotations;
  const next = {
    uid: compute.metadata.uid,
    since: timestamp(clock.now()),
    ...(pendingCreate?.branchID === mark.branchID ? pendingCreate : {}),
    ...mark,
    // A primary is sent again at once, and the first may still take effect.
    ...(pendingCreate !== undefined && compute.spec.type === "read_write" ? { resent: true as const } : {}),
  };
  if (pendingCreate === undefined) return next;
  // Its patch got no reply, and was carried out: what nothing has followed stands, or each try would have the next.
  const isUnsent = state.known.unsentPosts === (pendingCreate.posts ?? 1);
  if (isUnsent && sameJSON(next, pendingCreate)) return pendingCreate;
  return { ...next, posts: (pendingCreate.posts ?? 1) + 1 };
}

/** The mark of an earlier POST, as it stays when this one was refused. */
function markBefore(
  { branchID, resent, posts }: PendingCreate,
  { annotations }: ExecuteContext,
): PendingCreate | undefined {
  const { pendingCreate } = annotations;
  if (pendingCreate?.branchID !== branchID) return pendingCreate;
  // That it was sent again stays too: a patch without a reply could arrive when the next POST is on its way.
  return { ...pendingCreate, ...(resent === true ? { resent } : {}), ...(posts === undefined ? {} : { posts }) };
}

async function writeMark(mark: PendingCreate, compute: Compute, { cluster }: ExecuteContext): Promise<Compute> {
  const patch = guardedPatch(compute, { resourceVersion: true })
    .addFinalizer(finalizers.endpoint)
    .setAnnotation(keys.pendingCreate, JSON.stringify(mark));
  return noted(cluster, patch, compute);
}

function link(
  { id }: Endpoint,
  proof: "marker" | "created",
  mark: PendingCreate,
  compute: Compute,
  { cluster }: ExecuteContext,
): Promise<Compute> {
  const patch = guardedPatch(compute).setAnnotation(keys.endpointID, id).removeAnnotation(keys.pendingTakeover);
  if (mark.resent !== true) patch.removeAnnotation(keys.pendingCreate);
  // A service that does not return the name we gave shows no names: then our own annotation is the proof.
  if (proof === "created") patch.setAnnotation(keys.createdEndpoint, createdProof(compute.metadata.uid, id));
  return patched(cluster, patch, compute);
}

function created(
  { lost, attributes }: Create,
  { mark, marked, linked }: { mark: PendingCreate; marked: Compute; linked: Compute },
  endpoint: Endpoint,
  operations: Written["operations"],
): Outcome {
  // An earlier POST, for a spec that asked for it, may still take effect.
  const isNoted = mark.resent === true && marked.status.disabledByUs === true;
  const mayDisable = isNoted && endpoint.disabled !== undefined;
  const message = lost ? messages.replacement(endpoint.id) : messages.first(endpoint.id);
  return shown(linked, "Creating", inProgress("Creating", endpoint.id), {
    // A change of the spec during the POST is still to be sent.
    effect: { kind: "accepted", generation: generationOf(marked), endpoint, operations },
    disabling: { byUs: attributes.disabled === true || mayDisable },
    events: [{ type: "Normal", reason: "Created", message }],
  });
}
