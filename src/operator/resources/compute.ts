import { type ComputeSpec, computeSpec } from "./compute-spec.ts";
import { type ComputeStatus, computeStatus } from "./compute-status.ts";
import { type Declared, declared, ownKind, readerOf } from "./object.ts";

export type { ComputeSpec } from "./compute-spec.ts";
export type { Capacity, ComputeStatus, StatusOperation } from "./compute-status.ts";
export type { Condition } from "./conditions-of.ts";

/** One compute of the service, kept as declared. */
export type Compute = Declared<ComputeSpec, ComputeStatus>;

export const computeKind = ownKind<Compute>("Compute", "computes");

export const parseCompute = readerOf(declared(computeSpec, computeStatus));

/** Where the connection that a Compute names stands; the namespace of a ClusterServiceConnection is empty. */
export function connectionKeyOf({ metadata, spec }: Pick<Compute, "metadata" | "spec">) {
  const { kind, name } = spec.connectionRef;
  return { namespace: kind === "ClusterServiceConnection" ? "" : (metadata.namespace ?? ""), name };
}
