import { mostLagMs } from "../../../api/list-lag.ts";
import { recordedID } from "../../claims/ownership.ts";
import type { ConnectionView } from "../../connection/registry.ts";
import { shownCondition, shownReason } from "../../objects/conditions-of.ts";
import { generationOf, isBeingDeleted } from "../../objects/object.ts";
import type { EndpointLister } from "../../project/endpoint-lister.ts";
import type { ListerAccess } from "../../project/service-access.ts";
import { branchIDOf, resolvedID } from "../../resources/compute.ts";
import { unsupported } from "../../resources/compute-status.ts";
import { shortlyMs } from "../../runtime/waits.ts";
import { type Failure, isRefusedForGood } from "../../service-client/answer.ts";
import type { Priority } from "../../service-client/priority.ts";
import { longPauseMs, pauseMessage } from "../../service-client/request-reservation.ts";
import type { ReadonlyState } from "../memory.ts";
import { isUnanswered } from "../memory.ts";
import { meaningOf, requests } from "../words/failures.ts";
import { listingFor, notListedBy, snapshotFor } from "./endpoint-snapshot.ts";
import {
  branchNameNeeded,
  type EndpointSnapshot,
  type Observation,
  type Observed,
  type Subject,
} from "./observation.ts";

/** Joins a Compute with its project's latest list that is new enough, or says why there is none. */
export async function observe(
  subject: Subject,
  s: ReadonlyState,
  connection: ConnectionView,
  access: ListerAccess | undefined,
): Promise<Observed> {
  if (connection.kind === "closed") return { ...subject, ...connection, kind: "unavailable", projectGone: false };
  if (connection.kind === "pending" || access === undefined) {
    // A connection that becomes ready enqueues its Computes; that event may be missed.
    return { ...subject, kind: "pending", requeueAfterMs: shortlyMs };
  }
  const { compute } = subject;
  const { lister, reservation, client } = access;
  const { fingerprint, baseURL } = connection.session;
  const priority = priorityOf(subject, s);
  // Until an answer shows the service's time again, nothing that depends on it is planned.
  const isTimeless = subject.moment === undefined || connection.session.time.isKnown;
  const listing = isTimeless
    ? listingFor({ subject, state: s, lister, priority })
    : lister.listedAfter(subject.now, compute.metadata.uid, priority);
  const failure = lister.unseen ?? (isNews(subject) ? lister.failure : undefined);
  if (failure !== undefined) {
    const isDeletion =
      isBeingDeleted(compute) && failure.kind === "notFound" && isKnownThrough(subject, { fingerprint, baseURL });
    const isAsked = isDeletion && reservation.tryTake("write");
    const projectGone = isAsked && (await connection.session.projectIsGone(compute.spec.projectID, client));
    return {
      ...subject,
      ...meaningOfList(failure, subject, access),
      kind: "unavailable",
      projectGone,
      fingerprint,
      baseURL,
    };
  }
  if (listing === undefined) {
    if (reservation.closedForMs <= longPauseMs || !isNews(subject)) return { ...subject, kind: "pending" };
    return { ...subject, ...meaningOf(pauseAskedFor, ""), kind: "unavailable", projectGone: false, fingerprint };
  }
  resumeOperations(subject, lister);
  const snapshot = snapshotFor(subject, listing, connection, lister);
  const named = namedBranch(subject, snapshot, lister);
  if (named === "pending") return { ...subject, kind: "pending" };
  const missing = branchOfMissing(subject, snapshot, s, lister);
  const observation = { ...subject, ...snapshot, ...named, ...missing, kind: "observed" } as const;
  const { link } = observation.links;
  // Only a failure that may have been made good needs the operations of others.
  if (shownReason(compute) !== "OperationFailed" || link === undefined) return observation;
  if (!reservation.tryTake("read")) return reservation.closedForMs > 0 ? observation : { ...subject, kind: "pending" };
  const latest = await lister.operations.latest(link.endpoint.id, client);
  return latest.kind === "listed" ? { ...observation, lookedUp: latest.operations } : observation;
}

/**
 * Branch that the spec's name resolves to. A restore moves name and endpoint together: an endpoint that has left its
 * branch is judged by no list of branches that is older than the list which shows that.
 */
function namedBranch(
  { compute, referred }: Subject,
  { links: { link }, startedAt }: EndpointSnapshot,
  { branches }: EndpointLister,
): { named?: NonNullable<Observation["named"]> } | "pending" {
  if (referred !== undefined && !isBeingDeleted(compute)) return { named: referred };
  const branchName = branchNameNeeded(compute);
  if (branchName === undefined) return {};
  const resolved = resolvedID(compute);
  const hasLeft = link !== undefined && resolved !== undefined && link.endpoint.branch_id !== resolved;
  const wasThere = (compute.status.branchID ?? resolved) === resolved;
  const notBefore = hasLeft && wasThere ? startedAt : Number.NEGATIVE_INFINITY;
  const named = branches.lookup(compute.metadata.uid, branchName, resolved, notBefore);
  return named === undefined ? "pending" : { named };
}

/**
 * The branch of an endpoint that is missing: with its branch an endpoint ends too, and that is no loss. Lists lag, so
 * only one of branches counts that began that much later than the first of endpoints without it. Other endpoints whose
 * branches have gone are not missed either.
 */
function branchOfMissing(
  { compute, claimants }: Subject,
  { links, startedAt, endpoints, fingerprint, notListed }: EndpointSnapshot,
  { missing }: ReadonlyState,
  lister: EndpointLister,
): Pick<Observation, "missingFrom" | "notListed"> {
  const { uid } = compute.metadata;
  const { branches } = lister;
  if (links.missing === undefined || isBeingDeleted(compute)) {
    branches.found(uid);
    return { notListed };
  }
  const since = missing?.id === links.missing ? missing.since : startedAt;
  const branchID = compute.status.branchID ?? branchIDOf(compute);
  const shown = branches.shows(uid, branchID, since + mostLagMs) ?? "awaited";
  return {
    missingFrom: { branchID, branch: shown === "failed" ? "unknown" : shown },
    // Endpoints end with their branches: as far as these can be listed, that is no loss.
    notListed:
      shown === "shown" || shown === "gone"
        ? notListedBy(branches.latest, { endpoints, fingerprint }, claimants, lister)
        : notListed,
  };
}

/**
 * Meaning of a failed list: the same words during a pause that the service asks for as between two of them. A refusal
 * says more than the pause.
 */
function meaningOfList(failure: Failure, { compute }: Subject, { reservation }: ListerAccess) {
  const isPaused = reservation.closedForMs > 0 && !isRefusedForGood(failure);
  const asksPause = isPaused || ("retryAfterMs" in failure && failure.retryAfterMs !== undefined);
  return meaningOf(asksPause ? pauseAskedFor : failure, requests.listEndpoints(compute.spec.projectID));
}

/** While the service wants no requests, no list can come. */
const pauseAskedFor: Failure = { kind: "rateLimited", message: pauseMessage };

/**
 * True if the conditions are not about the present spec yet: then the first failed list is reported at once. Otherwise
 * the conditions stay, or a blip would change every Compute of a key.
 */
function isNews({ compute }: Subject): boolean {
  const ready = shownCondition(compute);
  return ready?.reason !== "Paused" && ready?.observedGeneration !== generationOf(compute);
}

/** Purpose of a list: a create or a deletion to resolve, a change still to be sent, or one under way. */
function priorityOf({ compute, annotations }: Subject, { accepted, write }: ReadonlyState): Priority {
  if (isBeingDeleted(compute) || isUnanswered(write)) return "resolve";
  // The status may not show the accepted generation yet, and shows that of a create before anything is made.
  const isAccepted =
    recordedID(compute) !== undefined &&
    [compute.status.appliedGeneration, accepted?.generation].includes(generationOf(compute));
  const isAwaited = write?.phase === "open" && write.made === undefined;
  return !isAccepted || annotations.reconcileRequested || isAwaited ? "plan" : "follow";
}

/** Operations that ran when an earlier process stopped are followed to their end. */
function resumeOperations({ compute: { status, spec } }: Subject, { operations }: EndpointLister): void {
  const { endpointID } = status;
  if (endpointID === undefined || status.operations === undefined) return;
  const known = status.operations.filter((operation) => operation.status !== unsupported);
  operations.follow(
    known.map(({ id, action, status: state, createdAt, updatedAt }) => ({
      id,
      action,
      status: state,
      endpoint_id: endpointID,
      project_id: spec.projectID,
      created_at: createdAt,
      updated_at: updatedAt,
    })),
  );
}

/**
 * True if this base URL and key have shown the Compute's project before: another key, which never did, does not prove
 * the project gone. If there is nothing to lose, any key does.
 */
function isKnownThrough(
  { compute, annotations }: Subject,
  { fingerprint, baseURL }: { fingerprint: string; baseURL: string },
): boolean {
  const { observedThrough, pendingWrite } = compute.status;
  if (annotations.recordedID === undefined && pendingWrite === undefined) return true;
  return observedThrough === undefined ? pendingWrite?.through === baseURL : observedThrough === fingerprint;
}
