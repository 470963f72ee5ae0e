import type { JsonObject } from "../api-server/objects.ts";

/**
 * One thing that somebody does, or that happens, at a time of the script. Plain data, so that a script can be shown.
 */
export type Action =
  /** `kubectl apply`: makes the Compute or changes its spec. */
  | { do: "apply"; name: string; spec: JsonObject }
  /** `kubectl replace`: drops finalizers and annotations, keeps the status. */
  | { do: "replace"; name: string }
  | { do: "delete"; name: string }
  /** The same with a Branch. */
  | { do: "apply branch"; name: string; spec: JsonObject }
  | { do: "delete branch"; name: string }
  | { do: "annotate branch"; name: string; key: "resetAt" | "paused"; value: string | null }
  /** `kubectl scale`, which makes the ComputePool first where there is none. */
  | { do: "scale pool"; name: string; replicas: number; template: JsonObject }
  | { do: "delete pool"; name: string }
  /** The template of a pool gets another size. */
  | { do: "resize pool"; name: string; computeUnits: JsonObject }
  | { do: "restart pool"; name: string; value: string }
  /** Somebody edits a replica in place of its pool's template. */
  | { do: "edit replica"; name: string }
  /** The label by which two operators divide the Computes. */
  | { do: "label"; name: string; shard: string | null }
  /** A person takes all finalizers away. */
  | { do: "drop finalizers"; name: string }
  | { do: "annotate"; name: string; key: "restartedAt" | "paused" | "reconcileRequestedAt"; value: string | null }
  | { do: "wipe status"; name: string }
  /** A manifest copied with its annotations under another name. */
  | { do: "copy"; from: string; to: string }
  /** A new key in the Secret; the old ones are revoked some time later. */
  | { do: "rotate key"; revokeAfterMs: number }
  /** The operator's key is revoked; a new one comes only later. */
  | { do: "revoke key"; mendAfterMs: number }
  /** The Secret holds the key of an account that has no part in the projects, until a good one is made. */
  | { do: "give a stranger's key"; mendAfterMs: number }
  /** The connection leads to another service, which knows the projects and none of the endpoints, and back again. */
  | { do: "edit base URL"; backAfterMs: number }
  /** The namespace loses the label that its ClusterServiceConnection selects by, and gets it back. */
  | { do: "unselect namespace"; backAfterMs: number }
  /** When it is gone, users create it again with all that they had applied. */
  | { do: "delete namespace" }
  /** Of Computes, or of all three kinds; when they are gone, users install and apply everything again. */
  | { do: "delete CRDs"; all: boolean }
  /** The cluster is lost with all that is in it; another is installed, with the same manifests and new operators. */
  | { do: "lose cluster"; downMs: number }
  /** All operators start again with another `--fleet`. */
  | { do: "rename fleet"; fleet: string; downMs: number }
  /** Somebody else changes an endpoint: the n-th there is, counted round. */
  | { do: "change endpoint"; nth: number; body: JsonObject }
  | { do: "delete endpoint"; nth: number }
  | { do: "create endpoint"; project: string; branch: string; type: "read_write" | "read_only" }
  /** A branch gets a name, and the one that has it another. */
  | { do: "name branch"; project: string; branch: string; name: string }
  /** The branch that has a name is deleted with its endpoints, and another made that is called so. */
  | { do: "make branch again"; project: string; name: string }
  /** People give a branch another end, or none: the n-th that is not of the seed, counted round. */
  | { do: "end branch"; nth: number; inMs: number | null }
  | { do: "change branch"; nth: number; body: JsonObject }
  | { do: "remove branch"; nth: number }
  /** People start a branch from it. */
  | { do: "branch off"; nth: number; name: string }
  /** The people of another namespace agree to connection Secrets there, or no longer; one that is not there is made. */
  | { do: "agree"; namespace: string; agrees: boolean }
  /** They have a Secret of this name, or delete what there is of it. */
  | { do: "make secret"; namespace: string; name: string }
  | { do: "remove secret"; namespace: string; name: string }
  /** A client connects, which wakes an idle compute. */
  | { do: "connect"; nth: number }
  /** The leading operator process dies and another starts. */
  | { do: "kill"; downMs: number }
  /** SIGSTOP and SIGCONT; `slept` stops its monotonic clock too. */
  | { do: "pause"; ms: number; slept: boolean }
  | { do: "cut watches" }
  | { do: "forget history" }
  | { do: "service down"; ms: number }
  /** The operator's key may not read endpoints for a while, which the service answers with 404. */
  | { do: "hide endpoints"; ms: number }
  | { do: "cluster down"; ms: number }
  | { do: "step clock"; ms: number };

export interface Timed {
  atMs: number;
  action: Action;
}

/** An action in words, for a history. */
export function inWords({ atMs, action }: Timed): string {
  const { do: what, ...rest } = action;
  const details = Object.entries(rest).map(([key, value]) => `${key}=${JSON.stringify(value)}`);
  return `${(atMs / 1000).toFixed(1).padStart(7)} s  ${what}${details.length === 0 ? "" : `  ${details.join(" ")}`}`;
}
