import type { EndpointLister } from "../../connection/endpoint-lister.ts";
import { longPauseMs } from "../../connection/pause.ts";
import type { ConnectionView } from "../../connection/registry.ts";
import type { Compute } from "../../resources/compute.ts";
import { unsupported } from "../../resources/compute-status.ts";
import { conditionOf } from "../../resources/conditions-of.ts";
import { pauseMessage } from "../../service-client/admission.ts";
import type { Failure } from "../../service-client/answer.ts";
import type { Priority } from "../../service-client/priority-queue.ts";
import type { ServiceAccess } from "../execute/context.ts";
import { meaningOf } from "../execute/failures.ts";
import type { ReconcileState } from "../state.ts";
import { requests } from "../status/messages/failures.ts";
import type { Claimants } from "./claims.ts";
import { snapshotFor } from "./endpoint-snapshot.ts";
import { recordedID } from "./ownership.ts";
import { pendingCreateOf, pendingRestartOf } from "./pending-operations.ts";
import { generationOf, type Observation, reconcileRequested, shownReason } from "./plan-input.ts";

/**
 * A connection that becomes ready enqueues its Computes. Should that be missed, they are reconciled again after this.
 */
const pendingLookMs = 10_000;

/** Joins a Compute with its project's latest list that is new enough, or says why there is none. */
export async function observe(
  compute: Compute,
  memory: ReconcileState,
  connection: ConnectionView,
  access: ServiceAccess | undefined,
  claimants: Claimants,
): Promise<Observation> {
  if (connection.kind === "closed") return { ...connection, kind: "blocked", projectGone: false };
  if (connection.kind === "pending" || access === undefined) return { kind: "awaited", requeueAfterMs: pendingLookMs };
  const { watcher, reservation, client } = access;
  // What another Compute with the same link wrote counts too, as that of which this one is a copy.
  const writtenAt = watcher.writtenAt(recordedID(compute));
  const after = Math.max(memory.listsCountAfter, writtenAt);
  const listing = watcher.listedAfter(after, compute.metadata.uid, priorityOf(compute));
  const failure = watcher.unseen ?? (isNews(compute) ? watcher.failure : undefined);
  if (failure !== undefined) {
    const doing = requests.listEndpoints(compute.spec.projectID);
    // The same words during a pause that the service asks for as between two of them.
    const asksPause = reservation.closedForMs > 0 || ("retryAfterMs" in failure && failure.retryAfterMs !== undefined);
    const { reason, message } = meaningOf(asksPause ? pauseAskedFor : failure, doing);
    const deleting = compute.metadata.deletionTimestamp !== undefined && failure.kind === "notFound";
    const asks = deleting && isKnownThrough(compute, connection.session.fingerprint) && reservation.tryTake("write");
    const projectGone = asks && (await connection.session.projectIsGone(compute.spec.projectID, client));
    return { kind: "blocked", reason, message, projectGone, through: connection.session.fingerprint };
  }
  if (listing === undefined) {
    if (reservation.closedForMs <= longPauseMs || !isNews(compute)) return { kind: "awaited" };
    const meaning = meaningOf(pauseAskedFor, "");
    return { kind: "blocked", ...meaning, projectGone: false, through: connection.session.fingerprint };
  }
  resumeOperations(compute, watcher);
  const list = snapshotFor(compute, listing, connection, watcher, claimants);
  const { link } = list.links;
  // Only a restart whose outcome is open, and a failure that may have been made good, need more than our own.
  const needed = pendingRestartOf(compute) !== undefined || shownReason(compute) === "OperationFailed";
  if (!needed || link === undefined) return { kind: "listed", list };
  if (!reservation.tryTake("read")) return reservation.closedForMs > 0 ? { kind: "listed", list } : { kind: "awaited" };
  const latest = await watcher.operations.latest(link.endpoint.id, client);
  return { kind: "listed", list: latest.kind === "listed" ? { ...list, lookedUp: latest.operations } : list };
}

/** While the service wants no requests, no list can come. */
const pauseAskedFor: Failure = { kind: "rateLimited", message: pauseMessage };

/**
 * Whether the conditions do not speak of the present spec yet: then the first failed lists are told at once. Others
 * keep what was last seen, or a blip would change every Compute of a key.
 */
function isNews(compute: Compute): boolean {
  const ready = conditionOf(compute.status, "Ready");
  return ready?.reason !== "Paused" && ready?.observedGeneration !== generationOf(compute);
}

/** What a list is for: a create or a deletion to resolve, a change still to be sent, or what is under way. */
function priorityOf(compute: Compute): Priority {
  if (compute.metadata.deletionTimestamp !== undefined || pendingCreateOf(compute) !== undefined) return "resolve";
  const isChanged = compute.status.appliedGeneration !== generationOf(compute) || reconcileRequested(compute);
  return isChanged || pendingRestartOf(compute) !== undefined ? "plan" : "follow";
}

/** Operations that ran when an earlier process stopped are followed to their end. */
function resumeOperations({ status, spec }: Compute, { operations }: EndpointLister): void {
  const { endpointID } = status;
  if (endpointID === undefined || status.operations === undefined) return;
  const told = status.operations.filter((operation) => operation.status !== unsupported);
  operations.follow(
    told.map(({ id, action, status: state, createdAt, updatedAt }) => ({
      id,
      action,
      status: state,
      endpoint_id: endpointID,
      project_id: spec.projectID,
      ...(createdAt === undefined ? {} : { created_at: createdAt }),
      ...(updatedAt === undefined ? {} : { updated_at: updatedAt }),
    })),
  );
}

/**
 * Whether this base URL and key have shown the Compute's project before: a stranger's key, which never did, cannot
 * tell that it is gone. Where there is nothing to lose, any may.
 */
function isKnownThrough(compute: Compute, through: string): boolean {
  const mark = pendingCreateOf(compute);
  if (recordedID(compute) === undefined && mark === undefined) return true;
  return (compute.status.observedThrough ?? mark?.through) === through;
}
