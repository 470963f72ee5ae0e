import type { Caches } from "./caches.ts";
import type { Session } from "./connection/session.ts";
import { conditionOf } from "./resources/conditions-of.ts";
import type { Clock } from "./runtime/clock.ts";
import type { Metrics } from "./runtime/metrics.ts";

export interface State {
  leading: boolean;
  caches: Caches;
  sessions: Iterable<Session>;
  deletesHeld: number;
  clock: Clock;
}

/** Sets the gauges that tell how things stand, right before a scrape. */
export function measureState(metrics: Metrics, { leading, caches, sessions, deletesHeld, clock }: State): void {
  metrics.leader.set({}, leading ? 1 : 0);
  metrics.deletesHeld.set({}, deletesHeld);
  for (const [kind, ms] of Object.entries(caches.lastEventAgeMs())) metrics.lastEventAge.set({ kind }, ms / 1000);
  metrics.computes.reset();
  const counts = Map.groupBy(caches.computes.list(), ({ status }) =>
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
  for (const session of sessions) {
    metrics.budgetAvailable.set({ account: session.through }, session.budget.available);
    for (const [project, { listing }] of session.watchers) {
      if (listing === undefined) continue;
      metrics.endpointListAge.set({ project }, (clock.monotonic() - listing.startedAt) / 1000);
    }
  }
}
