import type { Failure } from "../client/answer.ts";
import type { Priority } from "../client/priority-line.ts";
import type { ConnectionView } from "../connection/connections.ts";
import { longPauseMs } from "../connection/pause.ts";
import type { ProjectWatcher } from "../connection/project-watcher.ts";
import type { Compute } from "../resources/compute.ts";
import { untold } from "../resources/compute-status.ts";
import { conditionOf } from "../resources/conditions-of.ts";
import { meaningOf } from "./act/failures.ts";
import { pauseMessage } from "./act/waiting.ts";
import type { Errand } from "./errand.ts";
import type { Memory } from "./memory.ts";
import type { Rivals } from "./observe/claims.ts";
import { recordedID } from "./observe/link.ts";
import { listFor } from "./observe/list.ts";
import { createMarkOf, restartMarkOf } from "./observe/marks.ts";
import { freshLookAsked, generationOf, type Sight, shownReason } from "./observe/view.ts";

/**
 * A connection that is about to be ready comes with news; should they be missed, it is looked at again after so long.
 */
const pendingLookMs = 10_000;

/** Joins a Compute with its project's latest list that is new enough, or says why there is none. */
export async function observe(
  compute: Compute,
  memory: Memory,
  connection: ConnectionView,
  errand: Errand | undefined,
  rivals: Rivals,
): Promise<Sight> {
  if (connection.kind === "closed") return { ...connection, kind: "blocked", projectGone: false };
  if (connection.kind === "pending" || errand === undefined) return { kind: "awaited", lookInMs: pendingLookMs };
  const { watcher, reservation, client } = errand;
  // What another Compute with the same link wrote counts too, as that of which this one is a copy.
  const writtenAt = watcher.writtenAt(recordedID(compute));
  const after = Math.max(memory.listsCountAfter, writtenAt);
  const listing = watcher.listedAfter(after, compute.metadata.uid, priorityOf(compute));
  const failure = watcher.unseen ?? (isNews(compute) ? watcher.failure : undefined);
  if (failure !== undefined) {
    const doing = `list the endpoints of project ${compute.spec.projectID}`;
    // The same words during a pause that the service asks for as between two of them.
    const asksPause = reservation.closedForMs > 0 || ("retryAfterMs" in failure && failure.retryAfterMs !== undefined);
    const { reason, message } = meaningOf(asksPause ? pauseAskedFor : failure, doing);
    const deleting = compute.metadata.deletionTimestamp !== undefined && failure.kind === "notFound";
    const asks = deleting && isKnownThrough(compute, connection.session.through) && reservation.tryTake("write");
    const projectGone = asks && (await connection.session.projectIsGone(compute.spec.projectID, client));
    return { kind: "blocked", reason, message, projectGone, through: connection.session.through };
  }
  if (listing === undefined) {
    if (reservation.closedForMs <= longPauseMs || !isNews(compute)) return { kind: "awaited" };
    const meaning = meaningOf(pauseAskedFor, "");
    return { kind: "blocked", ...meaning, projectGone: false, through: connection.session.through };
  }
  resumeOperations(compute, watcher);
  const list = listFor(compute, listing, connection, watcher, rivals);
  const { link } = list.links;
  // Only a restart whose outcome is open, and a failure that may have been made good, need more than our own.
  const needed = restartMarkOf(compute) !== undefined || shownReason(compute) === "OperationFailed";
  if (!needed || link === undefined) return { kind: "listed", list };
  if (!reservation.tryTake("read")) return reservation.closedForMs > 0 ? { kind: "listed", list } : { kind: "awaited" };
  const latest = await watcher.operations.latest(link.endpoint.id, client);
  return { kind: "listed", list: latest.kind === "told" ? { ...list, lookedUp: latest.operations } : list };
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
  if (compute.metadata.deletionTimestamp !== undefined || createMarkOf(compute) !== undefined) return "resolve";
  const isChanged = compute.status.appliedGeneration !== generationOf(compute) || freshLookAsked(compute);
  return isChanged || restartMarkOf(compute) !== undefined ? "plan" : "follow";
}

/** Operations that ran when an earlier process stopped are followed to their end. */
function resumeOperations({ status, spec }: Compute, { operations }: ProjectWatcher): void {
  const { endpointID } = status;
  if (endpointID === undefined || status.operations === undefined) return;
  const told = status.operations.filter((operation) => operation.status !== untold);
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
  const mark = createMarkOf(compute);
  if (recordedID(compute) === undefined && mark === undefined) return true;
  return (compute.status.observedThrough ?? mark?.through) === through;
}
