import { clippedMessage, conditionOf, datedConditions } from "../resources/conditions-of.ts";
import type { ServiceConnection, ServiceConnectionStatus, StatusProject } from "../resources/service-connection.ts";
import { verdictOn } from "./condition.ts";
import type { Resolved } from "./resolve.ts";
import type { Session } from "./session.ts";
import type { Leaving } from "./terminating.ts";

/** How many projects a status names. */
const mostProjects = 100;

/** What the status of a connection is to say. */
export function statusOf(
  connection: ServiceConnection,
  resolved: Resolved,
  session: Session | undefined,
  leaving: Leaving | undefined,
  now: string,
): ServiceConnectionStatus {
  const condition = verdictOn(connection, resolved, session);
  const { reason, message } = leaving === undefined ? condition : whileLeaving(leaving, condition);
  const observedGeneration = connection.metadata.generation ?? 0;
  const ready = {
    type: "Ready",
    status: reason === "Authenticated" ? "True" : "False",
    reason,
    message: clippedMessage(message),
    observedGeneration,
  };
  const projects = session?.probe.projects ?? undefined;
  return {
    observedGeneration,
    conditions: datedConditions([ready], connection.status.conditions, now),
    keyType: session?.probe.keyType ?? "unknown",
    projectCount: projects?.length ?? connection.status.projectCount,
    projects: projects?.slice(0, mostProjects).map(projectOf) ?? connection.status.projects,
  };
}

/** What a connection says while it, or its Secret, is being deleted and still used. */
function whileLeaving(
  { what, message }: Leaving,
  { reason, message: own }: ReturnType<typeof verdictOn>,
): ReturnType<typeof verdictOn> {
  // Nothing new is made through a connection that goes, so it is not ready, whatever the service says of its key.
  if (what === "ServiceConnection") {
    return { reason: "Deleting", message: reason === "Authenticated" ? message : `${message} ${own}` };
  }
  return { reason, message: `${message} ${own}` };
}

/** What a status says by this process's own knowledge, without what it only leaves as it stands, and without times. */
export function ownWord(
  { observedGeneration, conditions, keyType }: ServiceConnectionStatus,
  session: Session | undefined,
): string {
  const said = conditions?.map(({ status, reason, message }) => [status, reason, message]);
  return JSON.stringify([observedGeneration, said, keyType, session?.probe.projects]);
}

/** Whether a status stands that speaks of the present spec: one that was wiped is written again. */
export function isWhole({ status, metadata }: ServiceConnection): boolean {
  return conditionOf(status, "Ready")?.observedGeneration === metadata.generation;
}

function projectOf({
  id,
  name,
  region_id,
  pg_version,
  locked,
}: NonNullable<Session["probe"]["projects"]>[number]): StatusProject {
  return {
    id,
    ...(name === undefined ? {} : { name }),
    ...(region_id === undefined ? {} : { regionID: region_id }),
    ...(pg_version === undefined ? {} : { pgVersion: pg_version }),
    ...(locked === undefined ? {} : { locked }),
  };
}
