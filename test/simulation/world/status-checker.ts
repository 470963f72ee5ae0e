import type { StoredEndpoint } from "../../../src/service/store/endpoints.ts";
import { isJsonObject, type KubeObject } from "../api-server/objects.ts";
import { annotationOf, conditionOf, createRecordOf, isDeleting, linkedID, statusOf } from "./computes.ts";
import type { Scene } from "./judge.ts";

/** What statuses say that is not so, once everybody has had the time to see it. */
export function untruths(scene: Scene): string[] {
  return [...scene.computes.flatMap((compute) => untrue(compute, scene)), ...untruePools(scene)];
}

/** What the status of a Compute that is ready says of its endpoint, and of what was asked for. */
function untrue(compute: KubeObject, { endpoints }: Scene): string[] {
  const { name } = compute.metadata;
  const status = statusOf(compute);
  const endpoint = endpoints.find(({ id }) => id === status["endpointID"]);
  const ready = conditionOf(compute, "Ready");
  if (ready !== undefined && linkedID(compute) === undefined && createRecordOf(compute) === undefined) {
    // It stays lost until another is made.
    const isLost = status["gone"] !== undefined && status["state"] === "Lost";
    const state = isDeleting(compute) ? "Deleting" : "NotCreated";
    return isLost || status["state"] === state ? [] : [`${name} has no endpoint and says ${String(status["state"])}`];
  }
  if (ready?.status !== "True" || endpoint === undefined) return [];
  const synced = conditionOf(compute, "Synced")?.status;
  if (synced !== (ready.reason === "Drifted" ? "False" : "True"))
    return [`${name} is ready (${String(ready.reason)}) and says Synced ${String(synced)}`];
  const wrong = fieldsOf(endpoint)
    // Not every service shows all of them.
    .filter(([field, actual]) => status[field] !== undefined && status[field] !== actual)
    .map(([field, actual]) => `${name} says ${field} ${String(status[field])}, and it is ${String(actual)}`);
  const { min, max } = isJsonObject(status["computeUnits"]) ? status["computeUnits"] : {};
  if (min !== endpoint.minCu || max !== endpoint.maxCu)
    wrong.push(`${name} says ${String(min)} to ${String(max)} CU, and it has ${endpoint.minCu} to ${endpoint.maxCu}`);
  if (!String(status["host"]).startsWith(`${endpoint.id}.`)) wrong.push(`${name} says host ${String(status["host"])}`);
  const asked = annotationOf(compute, "restartedAt");
  if (asked !== undefined && status["restartedAt"] !== asked)
    wrong.push(`${name} is ready and was not restarted for ${asked}`);
  const requested = annotationOf(compute, "reconcileRequestedAt");
  if (requested !== undefined && status["lastHandledReconcileAt"] !== requested)
    wrong.push(`${name} is ready and has not been refreshed for ${requested}`);
  return wrong;
}

/** What a connection says of a service that is there for everybody again; one that is being deleted says that. */
export function untrueConnections(connections: readonly KubeObject[]): string[] {
  return connections.flatMap((connection) => {
    const { name, deletionTimestamp } = connection.metadata;
    const reason = conditionOf(connection, "Ready")?.reason;
    const expected = deletionTimestamp === undefined ? "Authenticated" : "Deleting";
    return reason === expected ? [] : [`connection ${name} says ${String(reason)}, and it should be ${expected}`];
  });
}

function fieldsOf(endpoint: StoredEndpoint): [string, unknown][] {
  const { branchId, type, currentState, pendingState, disabled } = endpoint;
  const state = disabled ? "Disabled" : currentState === "active" ? "Active" : "Idle";
  return [
    ["branchID", branchId],
    ["type", type],
    ["currentState", currentState],
    ["pendingState", pendingState],
    ["disabled", disabled],
    ["state", state],
  ];
}

function untruePools({ pools, computes }: Scene): string[] {
  return pools.flatMap(({ uid, name, status }) => {
    const own = computes.filter(({ metadata }) => metadata.ownerReferences?.some((owner) => owner.uid === uid));
    const ready = own.filter((compute) => conditionOf(compute, "Ready")?.status === "True").length;
    const { replicas, readyReplicas } = isJsonObject(status) ? status : {};
    return replicas === own.length && readyReplicas === ready
      ? []
      : [`pool ${name} says ${String(readyReplicas)} of ${String(replicas)}, and it has ${ready} of ${own.length}`];
  });
}
