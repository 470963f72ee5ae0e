import { conditionOf } from "../../operator/objects/conditions-of.ts";
import { branchInWords } from "../../operator/resources/compute.ts";
import { durationOf } from "../../operator/resources/duration.ts";
import { annotations } from "../../operator/resources/names.ts";
import { pausedForMs } from "../../operator/resources/pause.ts";
import type { Found } from "./cluster.ts";

/** The operations that a screen has room for. */
const mostOperations = 4;

type Row = readonly [label: string, text: string];

/**
 * A page about an object for a person: its state and since when, the reason, and what comes next. `now` is the wall
 * clock's.
 */
export function screenOf(found: Found, now: number): string {
  const { metadata, status } = found.object;
  const ready = conditionOf(status, "Ready");
  const since = ready === undefined ? metadata.creationTimestamp : ready.lastTransitionTime;
  const state = ready === undefined ? "not seen by the operator" : ready.status === "True" ? "ready" : "not ready";
  const rows: Row[] = [
    ["what", whatOf(found)],
    ["since", since === undefined ? "unknown" : sinceOf(since, now)],
    ["why", ready === undefined ? "the operator has written no status yet" : `${ready.reason}: ${ready.message}`],
    ["next", nextOf(found, now)],
    ...detailsOf(found, now),
  ];
  const width = Math.max(...rows.map(([label]) => label.length));
  const lines = rows.map(([label, text]) => `  ${label.padEnd(width)}  ${text}`);
  return [`${found.kind} ${metadata.namespace ?? ""}/${metadata.name} is ${state}`, ...lines].join("\n");
}

/** One kind of object in a line. */
function whatOf(found: Found): string {
  switch (found.kind) {
    case "Compute": {
      const { spec, status } = found.object;
      const { endpointID, state = "NotCreated", size } = status;
      const parts = [state, spec.type, size, `branch ${branchInWords(found.object)}`, `project ${spec.projectID}`];
      return [...parts, endpointID].filter((part) => part !== undefined && part !== "").join(", ");
    }
    case "Branch": {
      const { spec, status } = found.object;
      const ends = status.expiresAt === undefined ? undefined : `ends ${status.expiresAt}`;
      const parts = [status.state, status.branchName ?? spec.branchName, status.branchID, `project ${spec.projectID}`];
      return [...parts, ends].filter((part) => part !== undefined).join(", ");
    }
    case "ComputePool": {
      const { spec, status } = found.object;
      return `${status.readyReplicas ?? 0} of ${spec.replicas} read replicas ready, project ${spec.template.projectID}`;
    }
    case "ServiceConnection": {
      const { spec, status } = found.object;
      const projects =
        status.projectCount === undefined
          ? ""
          : `, ${status.projectCount} project${status.projectCount === 1 ? "" : "s"}`;
      return `${spec.baseURL}, key ${status.keyType ?? "unknown"}${projects}`;
    }
  }
}

/** The next step, and its actor where a person has to act. */
function nextOf({ kind, object }: Found, now: number): string {
  const { metadata, status } = object;
  const is = (type: string) => conditionOf(status, type)?.status === "True";
  const ready = conditionOf(status, "Ready");
  if (ready === undefined) return "the operator writes a status, if it runs and watches this namespace";
  const pausedMs = kind === "Compute" || kind === "Branch" ? pausedForMs(object, now) : undefined;
  if (pausedMs === Number.POSITIVE_INFINITY) return "nothing until resume: it is paused";
  if (pausedMs !== undefined) return `goes on in ${inWords(pausedMs)}: it is paused`;
  if (metadata.deletionTimestamp !== undefined && !is("Stalled")) return "it goes once its deletion is done";
  if ((status.observedGeneration ?? -1) < (metadata.generation ?? 0)) return "the operator takes up the last edit";
  if (is("Stalled")) return "a person has to act, as the message says";
  if (is("Reconciling") || ready.status !== "True") return "the operator goes on without you";
  if (ready.reason === "Idle") return "nothing to do: the first connection wakes it";
  return "nothing to do";
}

function detailsOf(found: Found, now: number): Row[] {
  if (found.kind === "Branch") return requestRows(found, "resetAt", "reset");
  if (found.kind !== "Compute") return [];
  const { spec, status } = found.object;
  const operations = (status.operations ?? []).slice(0, mostOperations).map((operation): Row => {
    const at = operation.updatedAt ?? operation.createdAt;
    return ["operation", `${operation.action} ${operation.status}${at === undefined ? "" : `, ${sinceOf(at, now)}`}`];
  });
  const secret = status.binding?.name ?? spec.connectionSecret?.name;
  return [
    ...(status.host === undefined ? [] : [["host", status.host] as const]),
    ...(secret === undefined ? [] : [["secret", secret] as const]),
    ...(status.lastActive === undefined ? [] : [["active", sinceOf(status.lastActive, now)] as const]),
    ...requestRows(found, "restartedAt", "restart"),
    ...operations,
  ];
}

/** A request by annotation that is not carried out yet. */
function requestRows({ object: { metadata, status } }: Found, name: "resetAt" | "restartedAt", what: string): Row[] {
  const value = metadata.annotations?.[annotations[name]];
  const done =
    "resetAt" in status && name === "resetAt"
      ? status.resetAt
      : "restartedAt" in status
        ? status.restartedAt
        : undefined;
  return value === undefined || value === done ? [] : [["asked", `${what} ${value}, not carried out yet`]];
}

function sinceOf(time: string, now: number): string {
  const ms = now - Date.parse(time);
  return Number.isNaN(ms) ? time : `${inWords(ms)} (${time})`;
}

/** The two largest units of a time: `2h5m`; days from two on. */
function inWords(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds >= 2 * 86_400) return `${Math.floor(seconds / 86_400)}d`;
  return durationOf(seconds >= 3600 ? seconds - (seconds % 60) : seconds);
}
