import type { Endpoint } from "../../../api/endpoint.ts";
import type { Proof } from "../../claims/ownership.ts";
import { type Attributes, cutsConnections, type Difference } from "../../fields/compare.ts";
import type { ResolvedBranch, WaitingChange } from "../../resources/compute.ts";
import { pauseEndsInMs } from "../../resources/pause.ts";
import { signatureIn } from "../../resources/signature.ts";
import type { ReadonlyState } from "../memory.ts";
import type { Annotations } from "../observe/annotations.ts";
import type { Observation } from "../observe/observation.ts";
import type { Progress, Reason } from "../words/reasons.ts";

/** Occasion of a link. `former`: the endpoint was taken over from a former Compute, and a list shows our signature. */
export type LinkNews = "none" | "adopted" | "former" | "created";

/** The one thing to do next for a Compute. */
export type Action =
  | {
      kind: "create";
      attributes: Attributes & { type: string; branch_id: string };
      /** The entry of the schedule that it brings the endpoint to; empty: none. */
      entry?: string;
      /** The latest `created_at` among the endpoints that it was planned from. */
      newest: string | undefined;
      lost: boolean;
    }
  | {
      kind: "patch";
      endpointID: string;
      attributes: Attributes;
      fields: readonly string[];
      progress: Progress;
      /** The branch that a move leaves. */
      from?: string;
      /** Differences that the service had made on its own, where they are the reason. */
      corrects: readonly Difference[];
      /** The entry of the schedule that it brings the endpoint to; empty: none. */
      entry?: string;
      /** The changes that wait for a window. */
      waiting?: readonly WaitingChange[];
      /** The drift to report from now on, where the endpoint is on another branch and stays there. */
      drift?: readonly Difference[];
    }
  /**
   * Writes our signature as the endpoint's name: over that of another fleet, in the background, or over that of a
   * former Compute, which `takesOver` the endpoint.
   */
  | { kind: "sign"; endpointID: string; name: string; takesOver: boolean }
  | { kind: "restart"; endpointID: string; value: string; startedAt: string | undefined }
  /**
   * Resets the password of a role. `request`: the value of `passwordRotationAt` that it answers; `now`: the service's
   * time.
   */
  | { kind: "rotate"; endpointID: string; branchID: string; role: string; request: string | undefined; now: number }
  /** A recorded restart shows at the service: it counts as carried out. */
  | { kind: "restarted"; endpointID: string; value: string }
  /** `signature`: ours, in a fleet, where another cluster may have written its own over it since the list. */
  | { kind: "delete"; endpointID: string; why: "deleted" | "duplicate"; signature?: string }
  /** Writes into the Compute which endpoint is its own. */
  | { kind: "link"; endpointID: string; proof: Proof; news: LinkNews }
  /** Records which branch the name of the spec comes to, if any. `moves`: what to say where the endpoint follows it. */
  | { kind: "resolve"; branch: ResolvedBranch | undefined; moves?: string }
  /** Restores our finalizer, without which a deletion would not wait for what is open. */
  | { kind: "restoreFinalizer" }
  /** Removes our finalizer from a Compute that only observes. */
  | { kind: "dropFinalizer" }
  /** Asks the service for the one endpoint that lists lack. */
  | { kind: "confirmDeletion"; endpointID: string; after: "lost" | "deleted" }
  /** Lets the Compute go without, or after, deleting; `warns`: what it sent may still make an endpoint. */
  | { kind: "release"; event: "Deleted" | "Released"; message: string; warns?: true }
  /** Nothing to do but to wait for the service, or to try again later. `ownedByOther` as below. */
  | {
      kind: "wait";
      reason: Reason;
      message: string;
      requeueAfterMs?: number;
      ownedByOther?: true;
      /** An endpoint that is proved gone: the status records it. */
      gone?: string;
      /** A warning event says it too, once for these endpoints. */
      warnsOf?: readonly string[];
    }
  /** No knowledge that is new enough: the status stays as it is. */
  | {
      kind: "noop";
      requeueAfterMs?: number;
      /** The edit of this generation asks for a list that shows whether the compute is idle. */
      asksWhetherIdle?: number;
    }
  /**
   * Only a person can help. `ownedByOther`: the linked endpoint is another Compute's, so the status leaves it out.
   * `lacksFleet`: this process has no fleet, and the spec needs one.
   */
  | {
      kind: "blocked";
      reason: Reason;
      message: string;
      requeueAfterMs?: number;
      ownedByOther?: true;
      lacksFleet?: true;
      gone?: string;
    }
  | {
      kind: "settled";
      reason:
        | "Active"
        | "Idle"
        | "Disabled"
        | "Drifted"
        | "MovedOutside"
        | "WaitingForWindow"
        | "WaitingForTurn"
        | "Observed";
      message: string;
      drift: readonly Difference[];
      /** The changes that wait for a window, or for siblings. */
      waiting?: readonly WaitingChange[];
      /** Another entry of the schedule came into force, and its change waits. */
      keepsEntry?: true;
      requeueAfterMs?: number;
    };

/** One rule of the plan: an action if it has one, else the next rule is asked. */
export type PlanRule = (o: Observation, s: ReadonlyState) => Action | undefined;

type WaitAction = Extract<Action, { kind: "wait" }>;

export type PatchAction = Extract<Action, { kind: "patch" }>;

/** The actions that send a write to the service. */
export type WriteAction = Extract<Action, { kind: "create" | "patch" | "sign" | "restart" | "rotate" | "delete" }>;

export function isWrite(action: Action): action is WriteAction {
  return ["create", "patch", "sign", "restart", "rotate", "delete"].includes(action.kind);
}

/** True if an action cuts the connections of a compute that runs, and may wait until that suits. */
export function isCut(action: Action): action is Extract<Action, { kind: "patch" | "restart" }> {
  if (action.kind === "restart") return true;
  return action.kind === "patch" && action.fields.some((field) => cutsConnections({ field }));
}

/** True if an action would bring the service to what the spec says. */
export function sendsSpec(action: Action): boolean {
  return action.kind === "create" || action.kind === "patch";
}

/** Names a write by what it sends, so that one that failed is not tried again too soon, and another is at once. */
export function identityOf(write: WriteAction, generation: number): string {
  // An edit changes no signature.
  if (write.kind === "sign") return JSON.stringify(["sign", write.endpointID, write.name]);
  if (write.kind === "rotate") return JSON.stringify(["rotate", generation, write.role, write.request]);
  const content = "attributes" in write ? write.attributes : "value" in write ? write.value : write.endpointID;
  return JSON.stringify([write.kind, generation, content]);
}

/** Deletes an endpoint of the Compute with this uid. */
export function deletionOf(endpoint: Endpoint, why: "deleted" | "duplicate", uid: string): Action {
  const remove = { kind: "delete", endpointID: endpoint.id, why } as const;
  const signature = signatureInFleet(endpoint, uid);
  return signature === undefined ? remove : { ...remove, signature };
}

/** The endpoint's name, if it is our signature in a fleet: only such a one is ever written over by another operator. */
function signatureInFleet({ name }: Endpoint, uid: string): string | undefined {
  const signature = signatureIn(name);
  return signature?.fleet !== undefined && signature.uid === uid ? name : undefined;
}

/** Waits for the end of a pause: for its time, or until a person removes the annotation. */
export function pauseOf({ pausedForMs }: Pick<Annotations, "pausedForMs">, message: string): WaitAction {
  const wait = { kind: "wait", reason: "Paused", message } as const;
  const requeueAfterMs = pausedForMs === undefined ? undefined : pauseEndsInMs(pausedForMs);
  return requeueAfterMs === undefined ? wait : { ...wait, requeueAfterMs };
}

/** Time left until then, in milliseconds; at least a second, because the list that is waited for may be late. */
export function leftUntil(at: number, now: number): number {
  return Math.max(1000, at - now);
}

/** Leaves everything as it is until there is news, or until then. */
export function noop(requeueAfterMs: number | undefined): Action {
  return requeueAfterMs === undefined ? { kind: "noop" } : { kind: "noop", requeueAfterMs };
}
