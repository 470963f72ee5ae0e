import type { ClaimIndex } from "../claims/claim-index.ts";
import { recordedID } from "../claims/ownership.ts";
import type { SessionRegistry } from "../connection/registry.ts";
import type { ConnectionSecrets } from "../connection-secret/connection-secret.ts";
import type { ClusterClient } from "../kube/client.ts";
import type { EventInput } from "../kube/event-record.ts";
import { isRetained } from "../life/deletion-policy.ts";
import { JoinedListers } from "../life/joined-listers.ts";
import { onError } from "../life/on-error.ts";
import type { Brake } from "../project/gate.ts";
import type { Branch } from "../resources/branch.ts";
import { type Compute, computeKind } from "../resources/compute.ts";
import { type Fleet, signatureOf } from "../resources/signature.ts";
import type { Clock } from "../runtime/clock.ts";
import { shortlyMs, soonMs } from "../runtime/waits.ts";
import type { Reconciled } from "../runtime/workqueue.ts";
import type { ChangeBlockedWorkers } from "../service-client/request-reservation.ts";
import { annotationsOf } from "./observe/annotations.ts";
import { referredBranch } from "./observe/branch-ref.ts";
import { interestsOf } from "./observe/interests.ts";
import { isListed } from "./observe/listed.ts";
import { handOverForMs } from "./remembered.ts";
import { ReconcileState } from "./state.ts";
import type { Step } from "./step.ts";
import { leftBehind } from "./words/events.ts";

export interface ComputeReconcilerOptions {
  step: Step;
  cluster: Pick<ClusterClient, "get">;
  clock: Clock;
  /** Names this term of leadership in the records that it writes; random. */
  term: string;
  connections: Pick<SessionRegistry, "view" | "isGranted">;
  claims: Pick<ClaimIndex, "claimantsOf">;
  secrets: Pick<ConnectionSecrets, "readingDueAt" | "forget">;
  event: (compute: Compute, record: EventInput) => void;
  brake: Brake;
  changeBlockedWorkers: ChangeBlockedWorkers;
  createSettleMs: number;
  cache: {
    computeByUID(uid: string): Compute | undefined;
    branch(namespace: string, name: string): Branch | undefined;
  };
  /** True if this process reconciles the Compute, by its selector. */
  selects: (compute: Compute) => boolean;
  fleet: Fleet | undefined;
  /** An endpoint, by its id or the name that it may bear, was left at the service. */
  onLeftBehind?: (compute: Compute, endpoint: string) => void;
}

/**
 * Reconciles Computes, one step at a time. It decides which version a step is given, joins the lister of the project,
 * and keeps what this term remembers of each Compute.
 */
export class ComputeReconciler {
  readonly #options: ComputeReconcilerOptions;
  readonly #states = new Map<string, ReconcileState>();
  readonly #listers: JoinedListers<Compute>;
  /**
   * By uid: the stored version that a patch found outdated. Nothing is sent before the store has passed it; shortly the
   * API server is asked for the newest, since a conflict may have another cause.
   */
  readonly #outdated = new Map<string, { version: string | undefined; until: number }>();
  #relistedAt = Number.NEGATIVE_INFINITY;

  constructor(options: ComputeReconcilerOptions) {
    this.#options = options;
    this.#listers = new JoinedListers({ ...options, newest: (uid) => options.cache.computeByUID(uid) });
  }

  /** The Compute came under the selector then. */
  entered(uid: string, at: number): void {
    this.#stateOf(uid).entered(at);
  }

  /** A newer version of a Compute is known: its record counts from now on, also if the next version drops it. */
  changed(compute: Compute): void {
    if (!this.#options.selects(compute)) return;
    this.#stateOf(compute.metadata.uid).seen(compute, this.#options.clock.monotonic());
  }

  /** A Compute is gone. One that lost our finalizer by a person's hand leaves its endpoint: a person is told which. */
  gone(last: Compute): void {
    const { uid } = last.metadata;
    const state = this.#states.get(uid);
    this.#forget(uid);
    if (state === undefined || state.known.released === true || isRetained(last)) return;
    const endpointID = recordedID(last) ?? state.known.write?.made;
    const isOpen = state.known.write?.phase === "open";
    if (endpointID === undefined && !isOpen) return;
    const left = endpointID ?? signatureOf(last, this.#options.fleet);
    this.#options.event(last, { type: "Warning", reason: "Released", message: leftBehind(left) });
    this.#options.onLeftBehind?.(last, left);
  }

  /**
   * A complete list of the API server came in, and may hide a gap: no plan is acted on from before it. What is known of
   * writes stays: those to the API server are in the store, those to the service in each state.
   */
  relisted(): void {
    const now = this.#options.clock.monotonic();
    this.#relistedAt = now;
    for (const state of this.#states.values()) state.needListAfter(now);
  }

  async reconcile(uid: string): Promise<Reconciled> {
    const compute = this.#options.cache.computeByUID(uid);
    if (compute === undefined || !this.#options.selects(compute)) {
      this.#forget(uid);
      return {};
    }
    const state = this.#stateOf(uid);
    const { claims, clock, createSettleMs, fleet, secrets } = this.#options;
    const now = clock.monotonic();
    const annotations = annotationsOf(compute, clock.now());
    state.seen(compute, now);
    const outdated = this.#outdated.get(uid);
    if (outdated !== undefined && outdated.version === compute.metadata.resourceVersion) {
      if (now < outdated.until || !(await this.#isNewest(compute))) return { requeueAfterMs: soonMs };
    }
    this.#outdated.delete(uid);
    const handOverMs = handOverForMs(state.known, now);
    if (handOverMs > 0) return { requeueAfterMs: handOverMs };
    const connection = this.#options.connections.view(compute);
    const access = this.#listers.join(compute, connection, (lister) =>
      lister.use(uid, annotations.recordedID, interestsOf(compute), compute.metadata.namespace),
    );
    const claimants = claims.claimantsOf(compute);
    const { namespace = "" } = compute.metadata;
    const named = this.#options.cache.branch(namespace, compute.spec.branchRef?.name ?? "");
    const referred = referredBranch(compute, named);
    const subject = { compute, annotations, claimants, now, createSettleMs, fleet, referred };
    state.begin(annotations, isListed(compute, state.known, access?.lister), now);
    try {
      const outcome = await this.#options.step(subject, state, connection, access);
      const requeueAfterMs = state.requeueAfter(outcome, clock.monotonic(), secrets.readingDueAt(uid, now));
      return { requeueAfterMs };
    } catch (error) {
      return onError(error, computeKind, compute, { outdated: () => this.#foundOutdated(compute) });
    } finally {
      access?.gate.end();
    }
  }

  #foundOutdated({ metadata: { uid, resourceVersion: version } }: Compute): Reconciled {
    this.#outdated.set(uid, { version, until: this.#options.clock.monotonic() + shortlyMs });
    return { requeueAfterMs: soonMs };
  }

  /** True if the API server has this very version, so that a patch of it was refused for another reason. */
  async #isNewest(compute: Compute): Promise<boolean> {
    this.#foundOutdated(compute);
    const { metadata } = compute;
    const standing = await this.#options.cluster.get(computeKind, metadata);
    return standing?.metadata.uid === metadata.uid && standing.metadata.resourceVersion === metadata.resourceVersion;
  }

  #stateOf(uid: string): ReconcileState {
    const now = this.#options.clock.monotonic();
    const lists = { countAfter: now, firstAfter: this.#relistedAt };
    const state = this.#states.get(uid) ?? new ReconcileState(now, this.#options.term, { lists });
    this.#states.set(uid, state);
    return state;
  }

  #forget(uid: string): void {
    this.#listers.leave(uid);
    this.#options.secrets.forget(uid);
    this.#states.delete(uid);
    this.#outdated.delete(uid);
  }
}
