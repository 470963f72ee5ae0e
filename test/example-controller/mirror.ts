import { z } from "zod";
import { rows } from "../../src/operator/conditions/rows.ts";
import type { PatchedKind } from "../../src/operator/life/patching.ts";
import { conditions } from "../../src/operator/objects/conditions-of.ts";
import { builtInKind, declared, type KubeObject, readerOf } from "../../src/operator/objects/object.ts";

export interface ConfigMap extends KubeObject {
  data?: Record<string, string>;
}

const spec = z.object({ source: z.string(), targets: z.array(z.string()) });
const status = z.object({
  conditions: conditions.optional(),
  observedGeneration: z.int().optional(),
  copies: z.int().optional(),
  /** Targets with a ConfigMap of the source's name that is not ours. */
  refused: z.array(z.string()).optional(),
  /** The record of a create whose copy may still arrive. */
  pendingWrite: z.object({ target: z.string(), since: z.string() }).optional(),
});
const schema = declared(spec, status);
export type Mirror = z.output<typeof schema>;
export type CopyRecord = NonNullable<Mirror["status"]["pendingWrite"]>;

export const configMapKind = builtInKind<ConfigMap>("ConfigMap", "configmaps");
export const mirrorPatches: PatchedKind<Mirror> = {
  kind: { group: "example.dev", version: "v1", plural: "mirrors", kind: "Mirror", namespaced: true },
  parse: readerOf(schema),
  finalizer: "example.dev/copies",
};
/** On a copy: the uid of its Mirror. A person who writes it gives the ConfigMap away. */
export const ownerLabel = "example.dev/mirror";

/** The meaning of each reason for conditions, events and the next reconcile. */
export const reasons = {
  Copied: rows.settled,
  Creating: rows.inProgress,
  Deleting: rows.inProgress,
  Rejected: rows.retried,
  Refused: rows.stalled,
  Defect: rows.stalled,
} as const;
export type Reason = keyof typeof reasons;
