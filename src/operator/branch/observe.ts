import type { BranchInterest, BranchListing } from "../../api/branch-listing.ts";
import type { ConnectionView } from "../connection/registry.ts";
import { isBeingDeleted } from "../objects/object.ts";
import type { FollowedOperations } from "../project/followed-operations.ts";
import type { ListerAccess } from "../project/service-access.ts";
import { type Branch, branchNameOf } from "../resources/branch.ts";
import { shortlyMs } from "../runtime/waits.ts";
import { longPauseMs, pauseMessage } from "../service-client/request-reservation.ts";
import type { ReadonlyMemory } from "./memory.ts";
import { findLinkedAt, linkedID, type Observation, type Subject, type Unobserved } from "./observation.ts";
import { doing, meaningOf } from "./words.ts";

/** Joins a Branch with its project's latest list that is new enough, or says why there is none. */
export function observe(
  subject: Subject,
  memory: ReadonlyMemory,
  connection: ConnectionView,
  access: ListerAccess | undefined,
): Observation | Unobserved {
  const unobserved = (why: Unobserved["why"]): Unobserved => ({ ...subject, kind: "unobserved", why });
  if (connection.kind === "closed") return unobserved({ ...connection, kind: "shown" });
  if (connection.kind === "pending" || access === undefined) {
    // A connection that becomes ready enqueues its Branches; that event may be missed.
    return unobserved({ kind: "pending", afterMs: shortlyMs });
  }
  const { object } = subject;
  const { branches } = access.lister;
  const priority = isBeingDeleted(object) ? "resolve" : "plan";
  const { session } = connection;
  // Ends are counted by the service's clock, which an answer shows again.
  const newerThan = session.time.isKnown ? memory.listsAfter : subject.now;
  const listing = branches.listedAfter(newerThan, object.metadata.uid, priority);
  const failure = access.lister.unseen ?? branches.failure;
  if (failure !== undefined) {
    return unobserved({ kind: "shown", ...meaningOf(failure, doing.list(object.spec.projectID)) });
  }
  if (listing === undefined) {
    if (access.reservation.closedForMs <= longPauseMs) return unobserved({ kind: "pending" });
    return unobserved({ kind: "shown", ...meaningOf({ kind: "rateLimited", message: pauseMessage }, "") });
  }
  const linked = findLinkedAt(session.fingerprint, object, listing, subject.fleet);
  return {
    ...subject,
    kind: "observed",
    listing,
    serviceNow: session.time.now(),
    fingerprint: session.fingerprint,
    linked,
    resetting: resettingOf(memory, access.lister.operations.followed),
    missing: linked === undefined ? missingIn(object, listing) : undefined,
  };
}

/** The object's interests among the project's branches. */
export function interestOf(object: Branch): BranchInterest {
  const { parent, adopt } = object.spec;
  const adopted = adopt !== undefined && "branchID" in adopt ? adopt.branchID : undefined;
  const isLinked = linkedID(object) !== undefined;
  const names = isLinked
    ? []
    : [branchNameOf(object), ...(parent?.branchName === undefined ? [] : [parent.branchName])];
  return { id: object.status.branchID ?? adopted, names, count: !isLinked };
}

function resettingOf({ resetOperations: ids }: ReadonlyMemory, followed: FollowedOperations): Observation["resetting"] {
  if (ids.some((id) => followed.inProgress.has(id))) return "inProgress";
  return ids.flatMap((id) => followed.failureOf(id) ?? [])[0];
}

function missingIn(object: Branch, listing: BranchListing): string | undefined {
  const id = linkedID(object);
  return id !== undefined && listing.byID(id) === undefined ? id : undefined;
}
