import type { Compute, ComputeSpec } from "../resources/compute.ts";
import type { ComputePool } from "../resources/compute-pool.ts";
import { sameJSON } from "../resources/equal.ts";
import { conflict } from "./messages.ts";

/** A Compute that a pool owns, and its number. */
export interface Member {
  index: number;
  compute: Compute;
}

export interface PoolPlan {
  create: readonly number[];
  update: readonly Member[];
  remove: readonly Member[];
  /** Why a replica cannot be made, where a person has to help. */
  blocked: string | undefined;
}

/** The Computes that this very pool owns, by number. */
export function membersOf({ metadata }: ComputePool, computes: readonly Compute[]): Member[] {
  return computes
    .filter((compute) => compute.metadata.ownerReferences?.some(({ uid }) => uid === metadata.uid) === true)
    .flatMap((compute) => {
      const index = indexIn(metadata.name, compute.metadata.name);
      return index === undefined ? [] : [{ index, compute }];
    })
    .toSorted((a, b) => a.index - b.index);
}

/**
 * Numbers 0 to replicas - 1 are to stand, each with the template; what is above goes, the highest first. A number whose
 * Compute is still being deleted is made again only when that is gone, and one whose name is another's never.
 */
export function planPool(
  pool: ComputePool,
  members: readonly Member[],
  byName: (name: string) => Compute | undefined,
): PoolPlan {
  const { replicas } = pool.spec;
  const known = new Set(members.map(({ index }) => index));
  const missing = Array.from({ length: replicas }, (_, index) => index).filter((index) => !known.has(index));
  const ownedByOther = missing.filter((index) => byName(`${pool.metadata.name}-${index}`) !== undefined);
  const standing = members.filter(({ compute }) => compute.metadata.deletionTimestamp === undefined);
  return {
    create: missing.filter((index) => !ownedByOther.includes(index)),
    update: standing.filter(
      (member) => member.index < replicas && !sameJSON(specOf(pool, member), member.compute.spec),
    ),
    remove: standing.filter(({ index }) => index >= replicas).toReversed(),
    blocked: ownedByOther.length === 0 ? undefined : conflict(`${pool.metadata.name}-${ownedByOther[0]}`),
  };
}

/** The spec of a member: the template, read_only, and a connection Secret of its own. */
export function memberSpec({ spec }: ComputePool, index: number): ComputeSpec {
  const { connectionSecret, ...template } = spec.template;
  const secret =
    connectionSecret === undefined
      ? {}
      : { connectionSecret: { ...connectionSecret, name: `${connectionSecret.name}-${index}` } };
  return { ...template, ...secret, type: "read_only" };
}

/**
 * The spec of a member that stands. What it is to adopt only a person can say, of this one alone: that is left to them.
 */
export function specOf(pool: ComputePool, { index, compute }: Member): ComputeSpec {
  const { adopt } = compute.spec;
  return { ...memberSpec(pool, index), ...(adopt === undefined ? {} : { adopt }) };
}

/**
 * Whether a Compute differs from what its pool asks of it, so that the pool is about to put it back, or to remove it.
 * Until then nothing of its spec is carried out: an edit by hand would be sent to the service, and then be undone.
 */
export function awaitsTemplate(pool: ComputePool, compute: Compute): boolean {
  // The pool leaves its members alone once either is being deleted.
  if (pool.metadata.deletionTimestamp !== undefined || compute.metadata.deletionTimestamp !== undefined) return false;
  const [member] = membersOf(pool, [compute]);
  return member !== undefined && !sameJSON(specOf(pool, member), compute.spec);
}

function indexIn(pool: string, name: string): number | undefined {
  const digits = name.startsWith(`${pool}-`) ? name.slice(pool.length + 1) : "";
  return /^(0|[1-9]\d{0,8})$/.test(digits) ? Number(digits) : undefined;
}
