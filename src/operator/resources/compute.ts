import { z } from "zod";
import { type ComputeSpec, computeSpec } from "./compute-spec.ts";
import { type ComputeStatus, computeStatus } from "./compute-status.ts";
import { GROUP, VERSION } from "./names.ts";
import { type KubeObject, lenient, objectMeta, type Parsed, parseWith, type ResourceKind } from "./object.ts";

export type { ComputeSpec } from "./compute-spec.ts";
export type { Capacity, ComputeState, ComputeStatus, StatusOperation } from "./compute-status.ts";
export type { Condition } from "./condition.ts";

/** One compute of the service, kept as declared. */
export interface Compute extends KubeObject {
  spec: ComputeSpec;
  /** Empty where nothing was reported yet. */
  status: ComputeStatus;
}

export const computeKind: ResourceKind<Compute> = {
  group: GROUP,
  version: VERSION,
  plural: "computes",
  kind: "Compute",
  namespaced: true,
};

const compute = z.object({
  apiVersion: z.string().optional(),
  kind: z.string().optional(),
  metadata: objectMeta,
  spec: computeSpec,
  status: lenient(computeStatus),
});

/** Reads a Compute of the API server, or a manifest of one: strict about the spec, whatever the status holds. Never throws. */
export function parseCompute(raw: unknown): Parsed<Compute> {
  return parseWith(compute, raw);
}
