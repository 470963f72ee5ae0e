import type { Project } from "../../api/project.ts";
import { conditionsFor } from "../conditions/conditions.ts";
import { type ConditionRow, rows } from "../conditions/rows.ts";
import { conditionOf } from "../objects/conditions-of.ts";
import { generationOf } from "../objects/object.ts";
import type { Orphans } from "../project/orphans.ts";
import type { Connection } from "../resources/cluster-service-connection.ts";
import type { ConnectionUser } from "../resources/connection-user.ts";
import type { ServiceConnectionStatus, StatusProject } from "../resources/service-connection.ts";
import type { Failure } from "../service-client/answer.ts";
import type { KeyType } from "./connection-state.ts";
import { authenticated, unanswered, unauthorized, unreachable } from "./messages.ts";
import type { Resolved } from "./read-account.ts";
import type { Session } from "./session.ts";
import type { Terminating } from "./terminating.ts";

/** Maximum number of projects in a status. */
const mostProjects = 100;

/** Maximum number of orphaned endpoints in a status. */
const mostOrphans = 20;

/** The status of a connection. `isOfKey`: the stored status is about the present key, whichever process wrote it. */
export function statusOf(
  connection: Connection,
  resolved: Resolved,
  session: Session | undefined,
  terminating: Terminating | undefined,
  users: () => readonly ConnectionUser[],
  { now, isOfKey }: { now: number; isOfKey: boolean },
): ServiceConnectionStatus {
  const condition = connectionCondition(connection, resolved, session);
  const { reason, message } = terminating === undefined ? condition : whileTerminating(terminating, condition);
  const known = rowOf(reason, resolved);
  const row: ConditionRow = condition.isUnanswered === true ? { ...known, ready: "Unknown" } : known;
  const projects = session?.state.projects;
  return {
    observedGeneration: generationOf(connection),
    conditions: conditionsFor(connection, row, { reason, message }, { now, compared: undefined }),
    keyType: keyTypeOf(session?.state.keyType, isOfKey ? connection.status.keyType : undefined),
    projectCount: projects?.length ?? connection.status.projectCount,
    projects: projects?.slice(0, mostProjects).map(projectOf) ?? connection.status.projects,
    ...orphansOf(connection, session?.orphans, users),
  };
}

/** A key keeps its type: that `/auth` does not answer this process takes back nothing that it answered to another. */
function keyTypeOf(own: KeyType = "unknown", stored = "unknown"): string {
  return own === "unknown" ? stored : own;
}

/**
 * Orphans of the status. Other processes' orphans in projects that this one does not list stay while a Compute uses the
 * project.
 */
function orphansOf(
  connection: Connection,
  orphans: Orphans | undefined,
  users: () => readonly ConnectionUser[],
): Pick<ServiceConnectionStatus, "orphanedEndpoints" | "orphanedEndpointCount"> {
  if (orphans === undefined) return {};
  const others = (connection.status.orphanedEndpoints ?? []).filter(({ projectID }) => !orphans.isJudged(projectID));
  const known = [...orphans.all, ...others];
  if (known.length === 0) return {};
  const used = new Set(users().map(({ spec }) => spec.projectID));
  const all = known.filter(({ projectID }) => used.has(projectID)).toSorted((a, b) => a.id.localeCompare(b.id));
  if (all.length === 0) return {};
  return { orphanedEndpoints: all.slice(0, mostOrphans), orphanedEndpointCount: all.length };
}

/** The condition while the connection or its Secret is being deleted and still used. */
function whileTerminating(
  { kind, message }: Terminating,
  { reason, message: own }: ShownReason,
): Pick<ShownReason, "reason" | "message"> {
  // Nothing is created through a connection that is being deleted, so it is not ready, even with an accepted key.
  const isWell = reason === "Authenticated";
  if (kind === "connection") return { reason: "Deleting", message: isWell ? message : `${own} ${message}` };
  // The names of the users may fill a screen, so they come last.
  return { reason, message: isWell ? `${message} ${own}` : `${own} ${message}` };
}

/** The part of a status that this process knows itself: without times and without values that it only keeps. */
export function reportOf(
  { observedGeneration, conditions }: ServiceConnectionStatus,
  session: Session | undefined,
): string {
  const reported = conditions?.map(({ status, reason, message }) => [status, reason, message]);
  const { keyType, projects } = session?.state ?? {};
  return JSON.stringify([observedGeneration, reported, keyType, projects, session?.orphans?.all]);
}

/** True if the stored status is about the present spec: a status that was cleared is written again. */
export function isCurrent({ status, metadata }: Connection): boolean {
  return conditionOf(status, "Ready")?.observedGeneration === metadata.generation;
}

function projectOf({ id, name, region_id, pg_version, locked }: Project): StatusProject {
  return { id, name, regionID: region_id, pgVersion: pg_version, locked };
}

/** A connection compares nothing: the objects that use it do. */
const unsynced = { synced: "none" } as const;
const stalled = { ...rows.stalled, ...unsynced };
const retried = { ...rows.retried, ...unsynced };

/** The reasons of a ServiceConnection's conditions. */
export const connectionReasons = {
  Authenticated: { ...rows.settled, ...unsynced },
  Unauthorized: stalled,
  Unreachable: retried,
  NotAllowed: stalled,
  // A missing Secret may come with the next apply, or from a controller.
  SecretNotFound: retried,
  InvalidSecret: stalled,
  /** The connection is being deleted and Computes still use it. */
  Deleting: { ...rows.inProgress, ...unsynced },
} as const satisfies Record<string, ConditionRow>;

export type ConnectionReason = keyof typeof connectionReasons;

/** Only a person can help where the connection itself is refused. */
function rowOf(reason: ConnectionReason, resolved: Resolved): ConditionRow {
  return reason === "Unreachable" && resolved.kind === "refused" ? stalled : connectionReasons[reason];
}

/** Reason and message of the Ready condition. */
interface ShownReason {
  reason: ConnectionReason;
  message: string;
  /** The service has not answered this process yet, so the condition is Unknown. */
  isUnanswered?: boolean;
}

function connectionCondition({ spec }: Connection, resolved: Resolved, session: Session | undefined): ShownReason {
  if (resolved.kind === "refused") return resolved;
  const shown = session?.state.shown ?? { kind: "unknown" };
  switch (shown.kind) {
    case "reachable": {
      const unlisted = session?.state.unlisted;
      const parts = [
        authenticated.accepted,
        ...(unlisted === undefined ? [] : [unlistedMessage(unlisted, spec.organizationID)]),
        ...(session?.refreshes.isStretched === true ? [authenticated.stretched] : []),
      ];
      return { reason: "Authenticated", message: parts.join(" ") };
    }
    case "unauthorized":
      return { reason: "Unauthorized", message: unauthorized.connection(shown.message) };
    case "unreachable":
      return { reason: "Unreachable", message: unreachable.noUsableAnswer(shown.message) };
    case "paused":
      return { reason: "Unreachable", message: unreachable.paused };
    case "unknown":
      return { reason: "Unreachable", message: unanswered, isUnanswered: true };
  }
}

/** The service accepts the key but does not list its projects. */
function unlistedMessage({ message, kind }: Failure, organizationID: string | undefined): string {
  if (organizationID !== undefined) return authenticated.unlisted(message, authenticated.checkOrganization);
  return authenticated.unlisted(message, kind === "refused" ? authenticated.nameOrganization : undefined);
}
