import { endsSoonMs, fallsFreeSoon, isLate } from "../branch/plan/expiry.ts";
import type { SessionRegistry } from "../connection/registry.ts";
import { nameOf } from "../kube/objects.ts";
import type { Metrics } from "../metrics/metrics.ts";
import { readyLabel } from "../objects/conditions-of.ts";
import { isBeingDeleted } from "../objects/object.ts";
import type { Listing } from "../project/list-changes.ts";
import type { Branch } from "../resources/branch.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Kind } from "./flow-of.ts";
import type { Informers } from "./informers.ts";
import type { MetricNamespaces } from "./metric-namespaces.ts";

export interface State {
  leading: boolean;
  informers: Informers;
  namespaces: MetricNamespaces;
  /** `undefined` if this process does not lead. */
  connections: SessionRegistry | undefined;
  deletesHeld: number;
  branchDeletesHeld: number;
  /** Number of objects that wait for a worker, by kind. */
  queued: Readonly<Record<Kind, number>>;
  clock: Clock;
}

/** Sets the gauges that are computed before each scrape. */
export function measureState(
  metrics: Metrics,
  { leading, informers, namespaces, connections, deletesHeld, branchDeletesHeld, queued, clock }: State,
): void {
  metrics.leader.set({}, leading ? 1 : 0);
  metrics.deletesHeld.set({}, deletesHeld);
  metrics.branchDeletesHeld.set({}, branchDeletesHeld);
  for (const [kind, ms] of Object.entries(informers.lastEventAgeMs())) metrics.lastEventAge.set({ kind }, ms / 1000);
  for (const [kind, depth] of Object.entries(queued)) metrics.queueDepth.set({ kind }, depth);
  namespaces.refresh();
  metrics.computes.reset();
  for (const { namespace: name, state, ready, count } of informers.counts.all()) {
    const namespace = namespaces.of(name);
    metrics.computes.add({ namespace, state, ready }, count);
    // Prometheus sees no increase from a series that was not there.
    metrics.driftCorrections.add({ namespace }, 0);
  }
  metrics.changesWaiting.reset();
  for (const [name] of informers.counts.byNamespace()) {
    metrics.changesWaiting.add({ namespace: namespaces.of(name) }, informers.counts.waitingIn(name));
  }
  measureBranches(metrics, { informers, namespaces, clock });
  metrics.budgetAvailable.reset();
  metrics.endpointListAge.reset();
  metrics.refreshInterval.reset();
  for (const connection of informers.connections) {
    const session = connections?.sessionOf(connection);
    if (session === undefined) continue;
    metrics.refreshInterval.set({ connection: nameOf(connection.metadata) }, session.refreshes.inForceMs / 1000);
  }
  const orphans = [...(connections?.sessions ?? [])].flatMap((session) => session.orphanIDs);
  metrics.orphanedEndpoints.set({}, new Set(orphans).size);
  for (const session of connections?.sessions ?? []) {
    metrics.budgetAvailable.set({ account: session.fingerprint }, session.budget.available);
    for (const [project, { listing }] of session.listers) {
      if (listing === undefined) continue;
      metrics.endpointListAge.set({ project }, (clock.monotonic() - listing.startedAt) / 1000);
    }
  }
}

function measureBranches(
  metrics: Metrics,
  { informers, namespaces, clock }: Pick<State, "informers" | "namespaces" | "clock">,
): void {
  const now = clock.now();
  const standing = informers.branches.list().filter(({ status }) => status.gone === undefined);
  const isEnding = ({ status: { expiresAt } }: Branch) =>
    expiresAt !== undefined && Date.parse(expiresAt) - now < endsSoonMs;
  metrics.branchesEnding.set({}, standing.filter(isEnding).length);
  metrics.branchLeasesLate.set({}, standing.filter((branch) => isLate(branch, now)).length);
  const waiting = informers.branches.list().filter((branch) => !isBeingDeleted(branch));
  metrics.branchNamesEnding.set({}, waiting.filter((branch) => fallsFreeSoon(branch, now)).length);
  metrics.branches.reset();
  for (const { metadata, status } of informers.branches.list()) {
    const ready = readyLabel({ status });
    metrics.branches.add({ namespace: namespaces.of(metadata.namespace), state: status.state ?? "Unknown", ready }, 1);
  }
}

/** The value of the label `namespace` for an endpoint of a service. */
export type NamespaceOf = (baseURL: string, projectID: string, endpointID: string) => string;

/**
 * Counts compute-unit hours as an upper bound: the largest size of each compute times the time between two lists that
 * both show it active. The size in use is not shown by the service.
 */
export class UsageMeter {
  readonly #metrics: Metrics;
  readonly #namespaceOf: NamespaceOf;
  /** The latest list of each project, by base URL and id. */
  readonly #before = new Map<string, { project: string; listing: Listing }>();

  constructor(metrics: Metrics, namespaceOf: NamespaceOf) {
    this.#metrics = metrics;
    this.#namespaceOf = namespaceOf;
  }

  /** The project is not listed any more. */
  forget(project: string, baseURL: string): void {
    this.#before.delete(keyOf(project, baseURL));
    const isListed = [...this.#before.values()].some((known) => known.project === project);
    if (!isListed) this.#metrics.computeUnitHours.retire("project", project);
  }

  listed(project: string, listing: Listing, baseURL: string): void {
    const before = this.#before.get(keyOf(project, baseURL))?.listing;
    // If several connections list a project, a list may arrive after one that began later.
    if (before !== undefined && listing.startedAt < before.startedAt) return;
    this.#before.set(keyOf(project, baseURL), { project, listing });
    if (before === undefined) return;
    const hours = (listing.startedAt - before.startedAt) / 3_600_000;
    const wasActive = new Set(before.endpoints.filter(isActive).map(({ id }) => id));
    const sizes = new Map<string, number>();
    for (const endpoint of listing.endpoints) {
      if (!isActive(endpoint) || !wasActive.has(endpoint.id)) continue;
      const namespace = this.#namespaceOf(baseURL, project, endpoint.id);
      sizes.set(namespace, (sizes.get(namespace) ?? 0) + (endpoint.autoscaling_limit_max_cu ?? 0));
    }
    for (const [namespace, size] of sizes) this.#metrics.computeUnitHours.add({ namespace, project }, size * hours);
  }
}

function keyOf(project: string, baseURL: string): string {
  return `${baseURL} ${project}`;
}

function isActive({ current_state }: Listing["endpoints"][number]): boolean {
  return current_state === "active";
}
