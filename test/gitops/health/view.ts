import { conditionOf, conditions, shownReason } from "../../../src/operator/objects/conditions-of.ts";
import { annotations } from "../../../src/operator/resources/names.ts";
import type { KubeObject } from "../../simulation/api-server/objects.ts";

/** The kinds that Argo CD gets a health script for. */
export const kinds = ["Compute", "Branch", "ComputePool", "ServiceConnection", "ClusterServiceConnection"] as const;
export type Kind = (typeof kinds)[number];

/** The kinds that have the annotation paused. */
const pausable = new Set(["Compute", "Branch"]);

/** What an object says of its state. */
export interface View {
  kind: string;
  /** That of the condition Ready, or Expired in its place; "" before the operator has reported. */
  reason: string;
  /** `status.state` of a Compute. */
  state: string;
  ready: string;
  synced: string;
  reconciling: string;
  stalled: string;
  /** Whether the status is about the present generation. */
  current: boolean;
  deleting: boolean;
  paused: boolean;
}

export function viewOf({ kind, metadata, status: raw }: KubeObject): View {
  const status = record(raw);
  const listed = { conditions: conditions.parse(status["conditions"] ?? []) };
  const verdict = (type: string) => conditionOf(listed, type)?.status ?? "";
  return {
    kind,
    reason: shownReason({ status: listed }) ?? "",
    state: typeof status["state"] === "string" ? status["state"] : "",
    ready: verdict("Ready"),
    synced: verdict("Synced"),
    reconciling: verdict("Reconciling"),
    stalled: verdict("Stalled"),
    current: status["observedGeneration"] === metadata.generation,
    deleting: metadata.deletionTimestamp !== undefined,
    paused: pausable.has(kind) && (metadata.annotations?.[annotations.paused] ?? "false") !== "false",
  };
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? Object.fromEntries(Object.entries(value)) : {};
}
