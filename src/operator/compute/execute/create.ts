import type { Endpoint } from "../../../api/endpoint.ts";
import { guardedPatch } from "../../kube/json-patch.ts";
import { type Compute, computeKind } from "../../resources/compute.ts";
import { timestamp } from "../../resources/conditions-of.ts";
import { annotations, finalizers, uidOfMarker } from "../../resources/names.ts";
import type { Failure } from "../../service-client/answer.ts";
import type { Written } from "../../service-client/client.ts";
import { createdProof } from "../observe/ownership.ts";
import { type PendingCreate, pendingCreateOf } from "../observe/pending-operations.ts";
import { generationOf } from "../observe/plan-input.ts";
import { type Outcome, shown } from "../outcome.ts";
import type { Action } from "../plan/action.ts";
import { inProgress } from "../status/messages/conditions.ts";
import { noAnswer } from "../status/messages/create-unknown.ts";
import { created as events } from "../status/messages/events.ts";
import { requests } from "../status/messages/failures.ts";
import type { ExecuteContext } from "./context.ts";
import { recordFailedWrite } from "./failed-write.ts";
import { noteDisabling, patched } from "./patched.ts";

type Create = Extract<Action, { kind: "create" }>;

/** Mark, POST, link: in this order, so that the next process after a crash knows that a POST may have been sent. */
export async function createEndpoint(action: Create, compute: Compute, context: ExecuteContext): Promise<Outcome> {
  const { client, memory, clock, signal, watcher } = context;
  const marked = await mark(action, await noteDisabling(action.attributes, compute, context), context);
  const { listing: listed } = watcher;
  const answer = await client.createEndpoint(compute.spec.projectID, { endpoint: action.attributes }, signal);
  memory.listsCountAfter = clock.monotonic();
  // One that the list showed already was not made by this.
  const stoodBefore = ({ id }: Endpoint) => listed?.endpoints.some((one) => one.id === id) === true;
  const endpoint = answer.kind === "ok" ? answer.value.endpoint : undefined;
  if (answer.kind === "ok" && endpoint !== undefined && isOfThis(action, endpoint) && !stoodBefore(endpoint)) {
    delete memory.failedWrite;
    memory.proved = { endpointID: endpoint.id, proof: endpoint.name === action.attributes.name ? "marker" : "created" };
    memory.applied = { generation: generationOf(compute), drift: [] };
    memory.accepted = { endpointID: endpoint.id, generation: generationOf(compute) };
    memory.created = { endpointID: endpoint.id, at: clock.monotonic() };
    if (pendingCreateOf(marked)?.resent !== true) delete memory.pendingCreate;
    return created(action, marked, endpoint, answer.value.operations, context);
  }
  const failure: Failure =
    answer.kind === "ok" ? { kind: "ambiguous", message: "an answer to something else" } : answer;
  if (failure.kind === "ambiguous") return unknown(marked, context);
  return recordFailedWrite(
    action,
    failure,
    requests.create(compute.spec.branchID),
    await clearPending(compute, marked, context),
    context,
  );
}

/**
 * Whether an answer shows what this POST made, and not an endpoint from before or of another Compute: a link to that
 * would one day delete it.
 */
function isOfThis({ attributes }: Create, { branch_id, type, name }: Endpoint): boolean {
  if (branch_id !== attributes.branch_id || type !== attributes.type) return false;
  return name === attributes.name || uidOfMarker(name ?? "") === undefined;
}

/** This POST did nothing. An earlier one may still be under way: then only the lists can tell, and its mark stays. */
function clearPending(before: Compute, marked: Compute, { cluster }: ExecuteContext): Promise<Compute> {
  const earlier = pendingCreateOf(before);
  const patch = guardedPatch(marked).setAnnotation(annotations.pendingCreate, earlier && JSON.stringify(earlier));
  return patched(cluster, patch, marked);
}

async function mark(action: Create, compute: Compute, { cluster, clock }: ExecuteContext): Promise<Compute> {
  const { uid } = compute.metadata;
  const note: PendingCreate = { uid, since: timestamp(clock.now()), ...action.mark };
  const patch = guardedPatch(compute, { resourceVersion: true }).addFinalizer(finalizers.endpoint);
  const known = pendingCreateOf(compute);
  // A primary is sent again at once, and the first may yet arrive.
  const resent = known !== undefined && compute.spec.type === "read_write" ? { resent: true as const } : {};
  const next: PendingCreate = { ...note, ...(known?.branchID === action.mark.branchID ? known : {}), ...resent };
  patch.setAnnotation(annotations.pendingCreate, JSON.stringify(next));
  // A mark that stands already is proved to stand still, or a Compute that is long gone would get another endpoint.
  if (patch.isEmpty) await cluster.patch(computeKind, compute.metadata, patch.ops());
  return patched(cluster, patch, compute);
}

async function created(
  action: Create,
  compute: Compute,
  endpoint: Endpoint,
  operations: Written["operations"],
  { cluster, watcher }: ExecuteContext,
): Promise<Outcome> {
  const patch = guardedPatch(compute).setAnnotation(annotations.endpointID, endpoint.id);
  if (pendingCreateOf(compute)?.resent !== true) patch.removeAnnotation(annotations.pendingCreate);
  // A service that does not answer with the name we gave shows no names: then our own note is the proof.
  if (endpoint.name !== action.attributes.name) {
    patch.setAnnotation(annotations.createdEndpoint, createdProof(compute.metadata.uid, endpoint.id));
  }
  watcher.operations.follow(operations);
  const linked = await patched(cluster, patch, compute);
  return shown(linked, "Creating", inProgress("Creating", endpoint.id), {
    endpoint,
    operations,
    // A change of the spec while the POST was under way is still to be sent.
    applied: generationOf(compute),
    disabledByUs: action.attributes.disabled === true,
    notes: [
      {
        type: "Normal",
        reason: "Created",
        message: action.lost ? events.replacement(endpoint.id) : events.first(endpoint.id),
      },
    ],
  });
}

/** The outcome can only be seen in lists from now on; the time until another POST runs from here. */
function unknown(compute: Compute, { memory, clock }: ExecuteContext): Outcome {
  const pending = pendingCreateOf(compute);
  if (pending !== undefined) memory.pendingCreate = { since: pending.since, seenAt: clock.monotonic(), mark: pending };
  return shown(compute, "CreateUnknown", noAnswer);
}
