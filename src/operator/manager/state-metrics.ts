import type { SessionRegistry } from "../connection/registry.ts";
import { nameOf } from "../kube/objects.ts";
import type { Metrics } from "../metrics/metrics.ts";
import { conditionOf } from "../resources/conditions-of.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Informers } from "./informers.ts";

export interface State {
  leading: boolean;
  informers: Informers;
  /** `undefined` if this process does not lead. */
  connections: SessionRegistry | undefined;
  deletesHeld: number;
  clock: Clock;
}

/** Sets the gauges that are computed before each scrape. */
export function measureState(metrics: Metrics, { leading, informers, connections, deletesHeld, clock }: State): void {
  metrics.leader.set({}, leading ? 1 : 0);
  metrics.deletesHeld.set({}, deletesHeld);
  for (const [kind, ms] of Object.entries(informers.lastEventAgeMs())) metrics.lastEventAge.set({ kind }, ms / 1000);
  metrics.computes.reset();
  const counts = Map.groupBy(informers.computes.list(), ({ status }) =>
    JSON.stringify([status.state ?? "Unknown", conditionOf(status, "Ready")?.status ?? "Unknown"]),
  );
  for (const computes of counts.values()) {
    const [first] = computes;
    if (first === undefined) continue;
    const ready = conditionOf(first.status, "Ready")?.status ?? "Unknown";
    metrics.computes.set({ state: first.status.state ?? "Unknown", ready }, computes.length);
  }
  metrics.budgetAvailable.reset();
  metrics.endpointListAge.reset();
  metrics.refreshInterval.reset();
  for (const connection of informers.connections) {
    const session = connections?.sessionOf(connection);
    if (session === undefined) continue;
    metrics.refreshInterval.set({ connection: nameOf(connection.metadata) }, session.refreshes.inForceMs / 1000);
  }
  for (const session of connections?.sessions ?? []) {
    metrics.budgetAvailable.set({ account: session.fingerprint }, session.budget.available);
    for (const [project, { listing }] of session.listers) {
      if (listing === undefined) continue;
      metrics.endpointListAge.set({ project }, (clock.monotonic() - listing.startedAt) / 1000);
    }
  }
}
