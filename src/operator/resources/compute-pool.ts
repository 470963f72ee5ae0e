import { z } from "zod";
import { conditions } from "../objects/conditions-of.ts";
import { type Declared, declared, type KubeObject, type OwnerReference, readerOf } from "../objects/object.ts";
import { commonFields, oneBranch } from "./compute-spec.ts";
import { noMemberRotates } from "./connection-secret.ts";
import { observedGeneration, optionalFlag, optionalText, withRules } from "./fields.ts";
import { keeperOf, ownKind } from "./own-kind.ts";

const template = withRules(z.object(commonFields), oneBranch, noMemberRotates);

export const computePoolSpec = z.object({
  // More than any branch has; without a bound one mistyped number would fill cluster and service.
  replicas: z
    .int32()
    .min(0)
    .max(1000)
    .describe("How many read replicas there are, for example 2; 1000 at most. kubectl scale and autoscalers set it."),
  maxUnavailable: z
    .int32()
    .min(1)
    .max(1000)
    .optional()
    .describe(
      "How many read replicas may be without connections at a time because of a change or restart, for example 2; 1 if left out. The others wait their turn.",
    ),
  adoptFormer: optionalFlag(
    "true: each read replica gets adopt: {former: true}, so that a pool finds its replicas after the loss of the cluster.",
  ),
  template: template.describe(
    "The spec of each read replica: the fields of a Compute's spec except type (always read_only) and adopt. The name of a connectionSecret gets the replica's number as suffix.",
  ),
});

export const computePoolStatus = z.object({
  observedGeneration,
  conditions: conditions
    .optional()
    .describe("Ready: all replicas exist, carry the template and are ready. Reconciling and Stalled only while true."),
  replicas: z.int32().optional().describe("How many Computes of this pool exist."),
  readyReplicas: z.int32().optional().describe("How many of them are ready."),
  updatedReplicas: z
    .int32()
    .optional()
    .describe("How many of them have the template, and an endpoint at the service that is as it says."),
  restartGiven: optionalText("The last value of the restartedAt annotation that every read replica was given."),
  restartedAt: optionalText("The last value of the restartedAt annotation that all read replicas carried out."),
  selector: optionalText("Label selector of the pool's Computes, for autoscalers."),
});

export type ComputePoolSpec = z.output<typeof computePoolSpec>;
export type ComputePoolStatus = z.output<typeof computePoolStatus>;

/** Read replicas of one branch, by number. */
export type ComputePool = Declared<ComputePoolSpec, ComputePoolStatus>;

export const computePoolKind = ownKind<ComputePool>("ComputePool", "computepools");

/** Number of members that may be without connections at a time. */
export function maxUnavailableOf({ spec }: Pick<ComputePool, "spec">): number {
  return spec.maxUnavailable ?? 1;
}

/** The name of a member, such as `readers-2`. */
export function memberName({ metadata }: Pick<ComputePool, "metadata">, index: number): string {
  return `${metadata.name}-${index}`;
}

/** The number in the name of a member, such as 2 in `readers-2`; `undefined`: no member has this name. */
export function indexIn(pool: string, name: string): number | undefined {
  const digits = name.startsWith(`${pool}-`) ? name.slice(pool.length + 1) : "";
  return /^(0|[1-9]\d{0,8})$/.test(digits) ? Number(digits) : undefined;
}

/**
 * The index of a Compute that names the pool as its owner; `undefined`: by namespace or name it is none of its members.
 * An owner reference is what anybody may write.
 */
export function indexOf(
  { metadata: pool }: ComputePool,
  { metadata }: Pick<KubeObject, "metadata">,
): number | undefined {
  return pool.namespace === metadata.namespace ? indexIn(pool.name, metadata.name) : undefined;
}

/** The owner reference to the ComputePool that a Compute is a member of. */
export function owningPool(compute: Pick<KubeObject, "metadata">): OwnerReference | undefined {
  return keeperOf(compute, computePoolKind);
}

export const parseComputePool = readerOf(declared(computePoolSpec, computePoolStatus));
