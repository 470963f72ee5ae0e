import { isBeingDeleted } from "../objects/object.ts";
import { sameJSON } from "../objects/record.ts";
import { annotation } from "../resources/annotation.ts";
import type { Compute, ComputeSpec } from "../resources/compute.ts";
import { type ComputePool, computePoolKind, indexOf, memberName, owningPool } from "../resources/compute-pool.ts";
import { labels } from "../resources/names.ts";
import { conflict } from "./messages.ts";

/** A Compute that a pool owns, with its index. */
export interface Member {
  index: number;
  compute: Compute;
}

/** True if a member has the spec that it should have. */
export type IsKept = (wanted: ComputeSpec, member: Compute) => boolean;

const sameSpec: IsKept = (wanted, { spec }) => sameJSON(wanted, spec);

export type PoolPlan = ReturnType<typeof planPool>;

/** The Computes that this pool owns, by index. */
export function membersOf(pool: ComputePool, computes: readonly Compute[]): Member[] {
  return computes
    .filter((compute) => owningPool(compute)?.uid === pool.metadata.uid)
    .flatMap((compute) => {
      const index = indexOf(pool, compute);
      return index === undefined ? [] : [{ index, compute }];
    })
    .toSorted((a, b) => a.index - b.index);
}

/**
 * Replicas 0 to replicas - 1 exist with the template; higher ones are removed, the highest first. A replica that is
 * being deleted is created again when it is gone; one whose name another object has, never.
 */
export function planPool(
  pool: ComputePool,
  members: readonly Member[],
  byName: (name: string) => Compute | undefined,
  isKept: IsKept = sameSpec,
) {
  const { replicas } = pool.spec;
  const known = new Set(members.map(({ index }) => index));
  const missing = Array.from({ length: replicas }, (_, index) => index).filter((index) => !known.has(index));
  const named = missing.flatMap((index) => {
    const compute = byName(memberName(pool, index));
    return compute === undefined ? [] : [{ index, compute }];
  });
  const ownedByOther = named.find(({ compute }) => !wasMember(pool, compute));
  const current = members.filter(({ compute }) => !isBeingDeleted(compute));
  return {
    create: missing.filter((index) => !named.some((one) => one.index === index)),
    /** Members of a former pool of this name, as a backup restores them. */
    adopt: named.flatMap(({ compute }) => (wasMember(pool, compute) && !isBeingDeleted(compute) ? [compute] : [])),
    update: current.filter((member) => member.index < replicas && !isKept(specOf(pool, member), member.compute)),
    remove: current.filter(({ index }) => index >= replicas).toReversed(),
    restart: toRestart(
      pool,
      current.filter(({ index }) => index < replicas),
    ),
    /** Reason why a replica cannot be created without action by the user. */
    blocked: ownedByOther && conflict(ownedByOther.compute.metadata.name),
  };
}

/**
 * The members that get the pool's value of `restartedAt`. Each gets one value once: a later one that a person gives a
 * member stays. The value that a pool is made with asks for nothing, as with a Compute.
 */
function toRestart(pool: ComputePool, members: readonly Member[]): Member[] {
  const { restartGiven, observedGeneration = -1 } = pool.status;
  const value = annotation(pool, "restartedAt");
  if (value === undefined || value === restartGiven || observedGeneration < 0) return [];
  return members.filter(({ compute }) => annotation(compute, "restartedAt") !== value);
}

/**
 * True if a former pool of this name had the Compute: it has the pool's label and project, and either no owner, as a
 * backup tool restores it, or the former pool's uid. Such a member links its own endpoint, and another would be a
 * second one.
 */
function wasMember({ metadata, spec }: ComputePool, compute: Compute): boolean {
  const owners = compute.metadata.ownerReferences ?? [];
  const isFormer = owners.every(({ kind, name }) => kind === computePoolKind.kind && name === metadata.name);
  const isReplica = compute.spec.type === "read_only" && compute.spec.projectID === spec.template.projectID;
  return isFormer && isReplica && compute.metadata.labels?.[labels.pool] === metadata.name;
}

/** The spec of a member: the template with type read_only, its own connection Secret and `adoptFormer`. */
export function memberSpec({ spec }: ComputePool, index: number): ComputeSpec {
  const { connectionSecret, ...template } = spec.template;
  const secret =
    connectionSecret === undefined
      ? {}
      : { connectionSecret: { ...connectionSecret, name: `${connectionSecret.name}-${index}` } };
  const adopt = spec.adoptFormer === true ? { adopt: { former: true as const } } : {};
  return { ...template, ...secret, ...adopt, type: "read_only" };
}

/** The spec of an existing member. Its own `adopt` is kept, because a user may set it per member. */
export function specOf(pool: ComputePool, { index, compute }: Member): ComputeSpec {
  const { adopt } = compute.spec;
  return { ...memberSpec(pool, index), ...(adopt === undefined ? {} : { adopt }) };
}

/**
 * True if the spec of a Compute differs from its pool's template, so the pool is about to restore or remove it. Until
 * then the spec is not executed: a manual edit would be sent to the service, then undone.
 */
export function awaitsTemplate(pool: ComputePool, compute: Compute, isKept: IsKept): boolean {
  // Once either is being deleted, the pool does not change the member.
  if (isBeingDeleted(pool) || isBeingDeleted(compute)) return false;
  const [member] = membersOf(pool, [compute]);
  return member !== undefined && !isKept(specOf(pool, member), compute);
}
