import { branchReasons } from "../../operator/branch/reasons.ts";
import { rowOf } from "../../operator/compute/words/reasons.ts";
import { type ConditionRow, rowIn } from "../../operator/conditions/rows.ts";
import { conditionOf, isTrue, shownCondition } from "../../operator/objects/conditions-of.ts";
import { generationOf, isBeingDeleted } from "../../operator/objects/object.ts";
import { printableLine } from "../../operator/objects/printable-line.ts";
import { annotation } from "../../operator/resources/annotation.ts";
import { branchInWords, type Compute, type WaitingChange } from "../../operator/resources/compute.ts";
import { durationOf } from "../../operator/resources/duration.ts";
import { pausedForMs } from "../../operator/resources/pause.ts";
import { timeOf } from "../../operator/resources/time.ts";
import { type Found, titleOf } from "./objects.ts";

/** The operations that a screen has room for. */
const mostOperations = 4;

type Row = readonly [label: string, text: string];

/**
 * A page about an object for a person: its state and since when, the reason, and what comes next. `now` is the wall
 * clock's.
 */
export function screenOf(found: Found, now: number): string {
  const { metadata } = found.object;
  const shown = shownCondition(found.object);
  const since = shown === undefined ? metadata.creationTimestamp : shown.lastTransitionTime;
  const rows: Row[] = [
    ["what", whatOf(found)],
    ["since", since === undefined ? "unknown" : sinceOf(since, now)],
    ["why", shown === undefined ? "the operator has written no status yet" : `${shown.reason}: ${shown.message}`],
    ["next", nextOf(found, now)],
    ...detailsOf(found, now),
  ];
  const width = Math.max(...rows.map(([label]) => label.length));
  const lines = rows.map(([label, text]) => `  ${label.padEnd(width)}  ${printableLine(text)}`);
  return [`${titleOf(found)} is ${stateOf(found, now)}`, ...lines].join("\n");
}

/** True if the object is ready and stays: one that is being deleted keeps its condition while it is paused. */
export function isReady({ object }: Found): boolean {
  return isTrue(object.status, "Ready") && !isBeingDeleted(object);
}

function stateOf(found: Found, now: number): string {
  const { status } = found.object;
  const paused = pausedMsOf(found, now) === undefined ? "" : ", and paused";
  if (isBeingDeleted(found.object)) return `being deleted${paused}`;
  if (shownCondition(found.object) === undefined) return `not seen by the operator${paused}`;
  if (conditionOf(status, "Ready") === undefined) return `at its end${paused}`;
  return `${isReady(found) ? "ready" : "not ready"}${paused}`;
}

/** Time left of a pause; only Computes and Branches can be paused. */
function pausedMsOf({ kind, object }: Found, now: number): number | undefined {
  return kind === "Compute" || kind === "Branch" ? pausedForMs(object, now) : undefined;
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
function nextOf(found: Found, now: number): string {
  const { status } = found.object;
  const shown = shownCondition(found.object);
  if (shown === undefined) return "the operator writes a status, if it runs and watches this namespace";
  const isLeaving = isBeingDeleted(found.object);
  const pausedMs = pausedMsOf(found, now);
  if (pausedMs === Number.POSITIVE_INFINITY) return `${isLeaving ? "it stays" : "nothing"} until resume: it is paused`;
  if (pausedMs !== undefined) return `${isLeaving ? "its deletion " : ""}goes on in ${inWords(pausedMs)}: it is paused`;
  const isEdited = (status.observedGeneration ?? -1) < generationOf(found.object);
  if (isEdited && !isLeaving) return "the operator takes up the last edit";
  const is = (type: string) => isTrue(status, type);
  if (conditionOf(status, "Ready") === undefined && !isLeaving && !is("Stalled")) return "nothing to do";
  const actor = actorOf(found, shown.reason);
  if (actor === "person") return "a person has to act, as the message says";
  if (actor === "others") return "it continues once what the message names is done";
  if (isLeaving) return "it goes once its deletion is done";
  if (is("Reconciling") || !is("Ready")) return "the operator goes on without you";
  if (shown.reason === "WaitingForWindow") return windowOf(found, now);
  // A Branch keeps its policy for good.
  if (shown.reason === "Observed" && found.kind === "Compute")
    return "nothing is sent until spec.managementPolicy is Manage";
  if (shown.reason === "Idle") return "nothing to do: the first connection wakes it";
  return "nothing to do";
}

/** The end of a wait for a window. */
function windowOf({ object: { status, metadata } }: Found, now: number): string {
  const opens = "nextWindow" in status ? status.nextWindow : undefined;
  const when = opens === undefined ? "once a window opens" : `when a window opens, ${untilOf(opens, now)}`;
  return `the change goes ${when}; at once with: disrupt ${metadata.name} --for 30m`;
}

/** A change that waits for a window, in a word or two. */
export function changeInWords({ field, ours }: WaitingChange): string {
  return `${field} ${ours}`;
}

/**
 * The one that the object waits for, by its reason: a refused key counts as in progress for minutes, and only a person
 * replaces it. A reason of another version: by the condition alone.
 */
function actorOf({ kind, object }: Found, reason: string): "person" | "others" | "operator" {
  if (isTrue(object.status, "Stalled")) return "person";
  if (kind === "ServiceConnection") return reason === "SecretNotFound" ? "others" : "operator";
  const row: ConditionRow | undefined = kind === "Branch" ? rowIn(branchReasons, reason) : rowOf(reason);
  if (row === undefined) return "operator";
  if (row.stalled !== false) return "person";
  return row.requeue === "patient" || row.requeue === "slow" ? "others" : "operator";
}

function detailsOf(found: Found, now: number): Row[] {
  if (found.kind === "Branch") return requestRows(found, "resetAt", "reset");
  if (found.kind === "ComputePool") return requestRows(found, "restartedAt", "restart");
  if (found.kind !== "Compute") return [];
  const { metadata, spec, status } = found.object;
  const operations = (status.operations ?? []).slice(0, mostOperations).map((operation): Row => {
    const at = operation.updatedAt ?? operation.createdAt;
    return ["operation", `${operation.action} ${operation.status}${at === undefined ? "" : `, ${sinceOf(at, now)}`}`];
  });
  const elsewhere = status.connectionSecret ?? spec.connectionSecret;
  const isElsewhere = elsewhere?.namespace !== undefined && elsewhere.namespace !== metadata.namespace;
  const secret = isElsewhere ? `${elsewhere.namespace}/${elsewhere.name}` : (status.binding?.name ?? elsewhere?.name);
  return [
    ...(status.host === undefined ? [] : [["host", status.host] as const]),
    ...(secret === undefined ? [] : [["secret", secret] as const]),
    ...(status.lastActive === undefined ? [] : [["active", sinceOf(status.lastActive, now)] as const]),
    ...timingRows(found.object, now),
    ...requestRows(found, "restartedAt", "restart"),
    ...operations,
  ];
}

/** The entry of the schedule, what waits for a window, and leave to cut connections. */
function timingRows({ metadata, status }: Compute, now: number): Row[] {
  const { schedule, waiting = [] } = status;
  const until = annotation({ metadata }, "disruptionUntil") ?? "";
  const isAllowed = (timeOf(until) ?? now) > now;
  return [
    ...(schedule === undefined ? [] : [["schedule", inForce(schedule, now)] as const]),
    ...(waiting.length === 0 ? [] : [["waits", waiting.map(changeInWords).join(", ")] as const]),
    ...(isAllowed ? [["disrupt", `connections may be cut until ${untilOf(until, now)}`] as const] : []),
  ];
}

function inForce({ active = "", until }: NonNullable<Compute["status"]["schedule"]>, now: number): string {
  return `${active === "" ? "no entry in force" : active}${until === undefined ? "" : ` until ${untilOf(until, now)}`}`;
}

/** A request by annotation that is not carried out yet. */
function requestRows({ object: { metadata, status } }: Found, name: "resetAt" | "restartedAt", what: string): Row[] {
  const value = annotation({ metadata }, name);
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

function untilOf(time: string, now: number): string {
  const ms = Date.parse(time) - now;
  return Number.isNaN(ms) ? time : `${time} (in ${inWords(ms)})`;
}

/** The two largest units of a time: `2h5m`; days from two on. */
function inWords(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds >= 2 * 86_400) return `${Math.floor(seconds / 86_400)}d`;
  return durationOf(seconds >= 3600 ? seconds - (seconds % 60) : seconds);
}
