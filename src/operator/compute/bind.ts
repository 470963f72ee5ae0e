import type { ClusterClient } from "../cluster/client.ts";
import type { Secret } from "../connection/resolve.ts";
import { keepConnectionSecret, stands } from "./connection-secret.ts";
import type { Errand } from "./errand.ts";
import { annotation, type Sight } from "./observe/view.ts";
import type { Outcome } from "./outcome.ts";
import { reasons } from "./reasons.ts";
import { endpointAfter } from "./report.ts";

export interface BindTools {
  cluster: ClusterClient;
  signal: AbortSignal;
  /** Our connection Secrets of a namespace as the watch has delivered them. */
  ours: (namespace: string) => readonly Secret[];
}

/** Whoever waits for the budget is woken; this is for when that fails, in milliseconds. */
const budgetLookMs = 60_000;

/** The connection Secret of a Compute that has an endpoint; where it cannot be made, the Compute is not ready. */
export async function bind(
  outcome: Outcome,
  sight: Sight,
  errand: Errand | undefined,
  { cluster, signal, ours }: BindTools,
): Promise<{ outcome: Outcome; binding: string | undefined }> {
  const { compute, verdict } = outcome;
  const endpoint = endpointAfter(outcome, sight);
  const before = compute.status.binding?.name;
  const resting = compute.metadata.deletionTimestamp === undefined && annotation(compute, "paused") !== "true";
  if (endpoint === undefined || errand === undefined || !resting || outcome.released)
    return { outcome, binding: before };
  const { client, fare } = errand;
  const affordable = () => fare.affordable;
  const binding = await keepConnectionSecret(compute, endpoint, { cluster, signal, client, affordable, ours });
  const settled = verdict.kind === "shown" && reasons[verdict.reason].ready === "True";
  const standing = stands(compute, ours) ? compute.spec.connectionSecret?.name : undefined;
  const unread: Outcome = standing === undefined ? outcome : { ...outcome, unread: true };
  switch (binding.kind) {
    case "none":
      return { outcome, binding: undefined };
    case "bound":
      return { outcome, binding: binding.name };
    case "later":
      return {
        outcome: settled ? { ...unread, verdict: { kind: "unchanged" }, lookInMs: budgetLookMs } : unread,
        binding: before,
      };
    case "failed": {
      const { reason, message } = binding;
      return {
        outcome: settled ? { ...unread, verdict: { kind: "shown", reason, message }, asDeclared: true } : unread,
        binding: standing,
      };
    }
  }
}
