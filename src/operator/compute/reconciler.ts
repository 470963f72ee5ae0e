import type { ClaimIndex } from "../claims/claim-index.ts";
import { provedIn, recordedID } from "../claims/ownership.ts";
import type { SessionRegistry } from "../connection/registry.ts";
import type { ConnectionSecrets } from "../connection-secret/connection-secret.ts";
import { nextRotationAt } from "../connection-secret/rotation.ts";
import type { ClusterClient } from "../kube/client.ts";
import type { EventInput } from "../kube/event-record.ts";
import { Life } from "../life/life.ts";
import type { Reconciler } from "../life/reconciler.ts";
import { isRetained } from "../objects/deletion-policy.ts";
import type { Brake } from "../project/gate.ts";
import { type Branch, branchNameOf } from "../resources/branch.ts";
import type { Compute } from "../resources/compute.ts";
import { opensAt } from "../resources/effective-spec.ts";
import { isObserved } from "../resources/management-policy.ts";
import { type Fleet, signatureOf } from "../resources/signature.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Reconciled } from "../runtime/workqueue.ts";
import type { ChangeBlockedWorkers } from "../service-client/request-reservation.ts";
import type { ComputeKind, Given } from "./kind.ts";
import { handOverForMs } from "./memory.ts";
import { annotationsOf } from "./observe/annotations.ts";
import { referredBranch } from "./observe/branch-ref.ts";
import { interestsOf } from "./observe/interests.ts";
import { hasListAtHand } from "./observe/list-at-hand.ts";
import { asOf, momentThrough } from "./observe/moment.ts";
import { type Members, siblingsOf } from "./observe/siblings.ts";
import { ReconcileState } from "./reconcile-state.ts";
import { clockDueAt } from "./requeue.ts";
import { released } from "./words/deletion.ts";
import { leftBehind } from "./words/events.ts";

export interface ComputeReconcilerOptions {
  kind: ComputeKind;
  cluster: Pick<ClusterClient, "get">;
  clock: Clock;
  /** Names this term of leadership in the records that it writes; random. */
  term: string;
  connections: Pick<SessionRegistry, "view" | "isGranted">;
  claims: Pick<ClaimIndex, "claimantsOf">;
  secrets: Pick<ConnectionSecrets, "readingDueAt" | "forget" | "recorded" | "readNow" | "leftBehind">;
  event: (compute: Compute, record: EventInput) => void;
  brake: Brake;
  changeBlockedWorkers: ChangeBlockedWorkers;
  createSettleMs: number;
  cache: {
    computeByUID(uid: string): Compute | undefined;
    branch(namespace: string, name: string): Branch | undefined;
    pool: Members["pool"];
    membersOf: Members["membersOf"];
  };
  /** True if this process reconciles the Compute, by its selector. */
  selects: (compute: Compute) => boolean;
  fleet: Fleet | undefined;
  /** An endpoint, by its id or the name that it may bear, was left at the service. */
  onLeftBehind?: (compute: Compute, endpoint: string) => void;
}

/** Reconciles Computes. */
export class ComputeReconciler {
  readonly #options: ComputeReconcilerOptions;
  readonly #since: number;
  readonly #states: Reconciler<Compute, ReconcileState>;
  readonly reconcile: (uid: string) => Promise<Reconciled>;

  constructor(options: ComputeReconcilerOptions) {
    this.#options = options;
    this.#since = options.clock.monotonic();
    const { cache, secrets, term } = options;
    const life = new Life({
      ...options,
      newest: (uid) => cache.computeByUID(uid),
      remember: ({ now, relistedAt }) =>
        new ReconcileState(now, term, { lists: { countAfter: now, firstCreateAfter: relistedAt } }),
      onVersion: (compute, state, now) => state.noteVersion(compute, now),
      forgotten: (uid) => secrets.forget(uid),
      given: (compute, state, now) => this.#given(compute, state, now),
      use: (lister, compute, { subject }) => {
        const { uid, namespace } = compute.metadata;
        const shown = isObserved(compute) ? compute.status.endpointID : undefined;
        lister.use(uid, subject.annotations.recordedID ?? shown, interestsOf(compute), namespace);
      },
      begin: ({ object, memory, given, access }, now) =>
        memory.begin(given.subject.annotations, hasListAtHand(object, memory.known, access?.lister), now),
      asOf: (compute) =>
        compute.spec.schedule === undefined
          ? compute
          : asOf(compute, this.#serviceNow(options.connections.view(compute))),
      latest: (observed, { object, memory, given }, begunAt) =>
        Math.min(
          clockDueAt(observed, memory.known),
          rotationDueAt(object, given.subject) ?? Number.POSITIVE_INFINITY,
          secrets.readingDueAt(object.metadata.uid, begunAt) ?? Number.POSITIVE_INFINITY,
          memory.known.held?.dueAt ?? Number.POSITIVE_INFINITY,
        ),
    });
    this.#states = life.memories;
    this.reconcile = (uid) => life.reconcile(uid);
  }

  /** The Compute came under the selector then. */
  entered(uid: string, at: number): void {
    this.#states.memoryOf(uid).entered(at);
  }

  /** A newer version of a Compute is known: its record counts from now on, also if the next version drops it. */
  changed(compute: Compute): void {
    if (!this.#options.selects(compute)) return;
    this.#states.memoryOf(compute.metadata.uid).noteVersion(compute, this.#options.clock.monotonic());
  }

  /** The password in the Compute's Secret may have been changed for another one. */
  passwordChanged(uid: string): void {
    this.#options.secrets.readNow(uid);
  }

  /** A Compute is gone. One that lost our finalizer by a person's hand leaves its endpoint: a person is told which. */
  gone(last: Compute): void {
    const { uid } = last.metadata;
    const state = this.#states.known(uid);
    this.#states.forget(uid);
    if (state === undefined || state.known.released === true) return;
    for (const event of this.#options.secrets.leftBehind(last)) this.#options.event(last, event);
    const isOpen = state.known.write?.phase === "open";
    const kept = isObserved(last) && !isOpen ? provedIn(last) : undefined;
    if (kept !== undefined)
      this.#options.event(last, { type: "Normal", reason: "Released", message: released.observed(kept) });
    if ((isObserved(last) && !isOpen) || isRetained(last)) return;
    const endpointID = recordedID(last) ?? state.known.write?.made;
    if (endpointID === undefined && !isOpen) return;
    const left = endpointID ?? signatureOf(last, this.#options.fleet);
    this.#options.event(last, { type: "Warning", reason: "Released", message: leftBehind(left) });
    this.#options.onLeftBehind?.(last, left);
  }

  /** Memory of writes stays: those to the API server are in the store, those to the service in each state. */
  relisted(): void {
    this.#states.relisted((state, at) => state.needListAfter(at));
  }

  /** The service's clock, or this machine's while no session shows it. */
  #serviceNow(view: ReturnType<SessionRegistry["view"]>): number {
    return view.kind === "open" ? view.session.time.now() : this.#options.clock.now();
  }

  #given(compute: Compute, state: ReconcileState, now: number): Given | number {
    const handOverMs = handOverForMs(state.known, now);
    if (handOverMs > 0) return handOverMs;
    const { cache, claims, clock, connections, createSettleMs, fleet } = this.#options;
    const connection = connections.view(compute);
    const record = this.#options.secrets.recorded(compute);
    const named = cache.branch(compute.metadata.namespace ?? "", compute.spec.branchRef?.name ?? "");
    const serviceNow = this.#serviceNow(connection);
    const moment = momentThrough(compute, connection, serviceNow);
    const subject = {
      compute,
      moment,
      annotations: annotationsOf(compute, clock.now()),
      claimants: claims.claimantsOf(compute),
      now,
      createSettleMs,
      fleet,
      referred: referredBranch(compute, named),
      referredName: named && branchNameOf(named),
      secret: record && { record, mayCut: moment?.closed === undefined },
      serviceNow,
      siblings: siblingsOf(compute, {
        ...cache,
        termSince: this.#since,
        known: (uid) => this.#states.known(uid)?.known,
      }),
    };
    return { subject, connection };
  }
}

/** The time at which a rotation by age can be sent, on the monotonic clock; `undefined`: now, or never. */
function rotationDueAt({ spec }: Compute, { secret, moment, now, serviceNow }: Given["subject"]): number | undefined {
  const dueAt = secret && spec.connectionSecret && nextRotationAt(spec.connectionSecret, secret.record);
  if (dueAt === undefined) return undefined;
  const { closed } = moment ?? {};
  const at = dueAt <= serviceNow && closed !== undefined ? opensAt(closed, serviceNow) : dueAt;
  return at !== undefined && at > serviceNow ? now + at - serviceNow : undefined;
}
