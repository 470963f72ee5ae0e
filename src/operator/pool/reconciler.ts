import type { ClusterClient } from "../kube/client.ts";
import { createOwned, ownerReference } from "../kube/create-owned.ts";
import type { RecordEvent } from "../kube/event-record.ts";
import { guardedPatch } from "../kube/json-patch.ts";
import { onError } from "../life/on-error.ts";
import { Reconciler } from "../life/reconciler.ts";
import { conditionOf } from "../objects/conditions-of.ts";
import { generationOf, isBeingDeleted, type KubeObject } from "../objects/object.ts";
import { sameJSON } from "../objects/record.ts";
import { annotation } from "../resources/annotation.ts";
import { type Compute, type ComputeSpec, computeKind, parseCompute } from "../resources/compute.ts";
import { type ComputePool, computePoolKind, memberName } from "../resources/compute-pool.ts";
import { API_VERSION, annotations, labels } from "../resources/names.ts";
import type { Clock } from "../runtime/clock.ts";
import { shortlyMs } from "../runtime/waits.ts";
import type { Reconciled } from "../runtime/workqueue.ts";
import * as messages from "./messages.ts";
import { poolEvent } from "./messages.ts";
import { type Member, memberSpec, membersOf, type PoolPlan, planPool, specOf } from "./plan.ts";
import { SlowStart } from "./slow-start.ts";
import { type Blocked, blockedIn, poolStatus } from "./status.ts";
import type { StoredSpecs } from "./stored-specs.ts";

/** A change of one member. */
interface Change {
  member: Pick<KubeObject["metadata"], "namespace" | "name">;
  send: () => Promise<void>;
}

/** A refused change is retried after this long, in milliseconds, because no watch reports that the obstacle is gone. */
const refusedRetryMs = 60_000;

export interface PoolReconcilerOptions {
  cluster: ClusterClient;
  clock: Clock;
  /** True if the selector of this process selects the pool. */
  selects: (pool: ComputePool) => boolean;
  event: RecordEvent;
  storedSpecs: StoredSpecs;
  cache: {
    poolByUID(uid: string): ComputePool | undefined;
    computesOf(namespace: string): readonly Compute[];
    compute(namespace: string, name: string): Compute | undefined;
  };
}

/** Reconciles a ComputePool: as many read replicas as declared, each with the template. */
export class PoolReconciler {
  readonly #options: PoolReconcilerOptions;
  readonly #memories: Reconciler<ComputePool, SlowStart>;

  constructor(options: PoolReconcilerOptions) {
    this.#options = options;
    this.#memories = new Reconciler({
      ...options,
      kindOf: () => computePoolKind,
      newest: (uid) => options.cache.poolByUID(uid),
      remember: () => new SlowStart(),
    });
  }

  reconcile(uid: string): Promise<Reconciled> {
    return this.#memories.reconcile(uid, (pool, slowStart) => this.#reconcile(pool, slowStart));
  }

  async #reconcile(pool: ComputePool, slowStart: SlowStart): Promise<Reconciled> {
    const { cache, clock, storedSpecs } = this.#options;
    // The garbage collector deletes the members of a deleted pool.
    if (isBeingDeleted(pool)) return {};
    const { namespace = "" } = pool.metadata;
    const members = membersOf(pool, cache.computesOf(namespace));
    const byName = (name: string) => cache.compute(namespace, name);
    const plan = planPool(pool, members, byName, (wanted, member) => storedSpecs.isKept(wanted, member));
    const generation = generationOf(pool);
    const waitMs = slowStart.waitMs(generation, clock.monotonic());
    const due = waitMs > 0 ? [] : plan.create;
    const changes = due.length + plan.adopt.length + plan.update.length + plan.remove.length + plan.restart.length;
    // The watch may be sooner.
    if (changes > 0 && !(await this.#isUnchanged(pool))) return { requeueAfterMs: shortlyMs };
    const changed = await this.#execute(pool, [
      ...plan.adopt.map((compute) => ({ member: compute.metadata, send: () => this.#adopt(pool, compute) })),
      ...plan.update.map((one) => ({ member: one.compute.metadata, send: () => this.#update(pool, one) })),
      ...plan.remove.map(({ compute }) => ({ member: compute.metadata, send: () => this.#remove(compute) })),
      ...plan.restart.map(({ compute }) => ({ member: compute.metadata, send: () => this.#restart(pool, compute) })),
    ]);
    const create = (index: number) => ({ member: placeOf(pool, index), send: () => this.#create(pool, index) });
    const batches = {
      now: () => clock.monotonic(),
      isWanted: () => this.#isUnchanged(pool),
      execute: (numbers: readonly number[]) => this.#execute(pool, numbers.map(create)),
    };
    const created = waitMs > 0 ? { refusal: undefined, waitMs } : await slowStart.run(generation, due, batches);
    const refusal = changed ?? created.refusal;
    await this.#updateStatus(pool, members, plan, refusal ?? blockedIn(plan, members));
    const retryMs = refusal === undefined ? undefined : refusedRetryMs;
    // The watch reports changes, but for a replica that was deleted unseen, as with its CRD.
    return { requeueAfterMs: created.waitMs ?? retryMs ?? (changes > 0 ? shortlyMs : undefined) };
  }

  /**
   * Executes the changes independently, until the watch delivers another spec of the pool; returns the first refusal of
   * the API server.
   */
  async #execute({ metadata }: ComputePool, changes: readonly Change[]): Promise<Blocked | undefined> {
    let first: Blocked | undefined;
    for (const change of changes) {
      if (this.#options.cache.poolByUID(metadata.uid)?.metadata.generation !== metadata.generation) break;
      const refusal = await this.#attempt(change);
      first ??= refusal;
    }
    return first;
  }

  async #attempt({ member, send }: Change): Promise<Blocked | undefined> {
    try {
      await send();
      return undefined;
    } catch (error) {
      return onError<Blocked | undefined>(
        error,
        computeKind,
        { metadata: member },
        {
          // The watch delivers the member's newer version or its end, and the pool is reconciled again.
          outdated: () => undefined,
          refused: ({ error: { message } }) => ({ reason: "Rejected", message: messages.rejected(message) }),
        },
      );
    }
  }

  /** The watch of pools may lag behind that of Computes: an old replica count would delete wanted replicas. */
  async #isUnchanged({ metadata }: ComputePool): Promise<boolean> {
    const now = await this.#options.cluster.get(computePoolKind, metadata);
    const same = now?.metadata.uid === metadata.uid && now.metadata.generation === metadata.generation;
    return same && !isBeingDeleted(now);
  }

  async #create(pool: ComputePool, index: number): Promise<void> {
    const spec = memberSpec(pool, index);
    const restartedAt = annotation(pool, "restartedAt");
    const created = await createOwned(
      this.#options.cluster,
      computeKind,
      {
        apiVersion: API_VERSION,
        kind: computeKind.kind,
        metadata: {
          ...placeOf(pool, index),
          labels: { ...pool.metadata.labels, [labels.pool]: pool.metadata.name },
          ...(restartedAt === undefined ? {} : { annotations: { [annotations.restartedAt]: restartedAt } }),
        },
        spec,
      },
      { kind: computePoolKind, object: pool, isBlocked: true },
    );
    if (created !== undefined) this.#answered(spec, created);
  }

  /**
   * Takes back a member, which no other object than a former pool owns: it keeps its endpoint, and gets the template by
   * the next reconcile.
   */
  async #adopt(pool: ComputePool, compute: Compute): Promise<void> {
    const { cluster, event } = this.#options;
    const owners = [ownerReference({ kind: computePoolKind, object: pool, isBlocked: true })];
    const patch = guardedPatch(compute, { resourceVersion: true }).set(["metadata", "ownerReferences"], owners);
    await cluster.patch(computeKind, compute.metadata, patch.ops());
    event(computeKind, compute, { type: "Normal", reason: "Adopted", message: messages.adopted(pool.metadata.name) });
  }

  async #update(pool: ComputePool, member: Member): Promise<void> {
    const { compute } = member;
    const spec = specOf(pool, member);
    const patch = guardedPatch(compute, { resourceVersion: true }).set(["spec"], spec);
    const patched = await this.#options.cluster.patch(computeKind, compute.metadata, patch.ops());
    this.#answered(spec, patched);
    // The API server stores the same again.
    if (patched.metadata.generation === compute.metadata.generation) return;
    const rolledOut = pool.status.observedGeneration === pool.metadata.generation;
    if (!rolledOut || conditionOf(pool.status, "Ready")?.reason === "Rejected") return;
    // On the member, because the user edited it there.
    const message = messages.driftCorrected(pool.metadata.name);
    this.#options.event(computeKind, compute, { type: "Normal", reason: "DriftCorrected", message });
  }

  #answered(sent: ComputeSpec, answer: Compute): void {
    const member = parseCompute(answer);
    if (member.ok) this.#options.storedSpecs.answered(sent, member.value);
  }

  async #restart(pool: ComputePool, compute: Compute): Promise<void> {
    const patch = guardedPatch(compute, { resourceVersion: true }).setAnnotation(
      annotations.restartedAt,
      annotation(pool, "restartedAt"),
    );
    await this.#options.cluster.patch(computeKind, compute.metadata, patch.ops());
  }

  async #remove({ metadata }: Compute): Promise<void> {
    await this.#options.cluster.delete(computeKind, metadata);
  }

  async #updateStatus(
    pool: ComputePool,
    members: readonly Member[],
    plan: PoolPlan,
    blocked: Blocked | undefined,
  ): Promise<void> {
    const { cluster, clock } = this.#options;
    const { status, isOfMembers } = poolStatus(pool, members, plan, blocked, clock.now());
    if (sameJSON(status, pool.status)) return;
    await cluster.patch(computePoolKind, pool.metadata, guardedPatch(pool).setStatus(status).ops(), {
      subresource: "status",
    });
    // A replica that is not ready is reported by its Compute, not by the pool.
    const event = isOfMembers ? undefined : poolEvent(pool, status, plan);
    if (event !== undefined) this.#options.event(computePoolKind, pool, event);
  }
}

function placeOf(pool: ComputePool, index: number): Change["member"] {
  return { namespace: pool.metadata.namespace, name: memberName(pool, index) };
}
