import { type Declared, declared, type KubeObject, type Parsed, readerOf } from "../objects/object.ts";
import { annotation } from "./annotation.ts";
import { type ComputeSpec, computeSpec } from "./compute-spec.ts";
import { type ComputeStatus, computeStatus, nothingShown } from "./compute-status.ts";
import { isObserved } from "./management-policy.ts";
import { ownKind } from "./own-kind.ts";

export type { Condition } from "../objects/conditions-of.ts";
export type { ComputeSpec } from "./compute-spec.ts";
export type {
  Capacity,
  ComputeStatus,
  SecretStatus,
  StatusOperation,
  StatusProof,
  WaitingChange,
  WriteRecord,
} from "./compute-status.ts";

/** The branch that a name came to. */
export interface ResolvedBranch {
  name: string;
  id: string;
}

/** One compute of the service, kept as declared. */
export type Compute = Declared<ComputeSpec, ComputeStatus>;

export const computeKind = ownKind<Compute>("Compute", "computes");

const readCompute = readerOf(declared(computeSpec, computeStatus));

/** Reads a Compute. One that was only observed, and is managed again, begins without what a look alone has shown. */
export function parseCompute(raw: unknown): Parsed<Compute> {
  const read = readCompute(raw);
  if (!read.ok || read.value.status.managementPolicy === undefined || isObserved(read.value)) return read;
  const status = { ...read.value.status, managementPolicy: undefined };
  const value = { ...read.value, status };
  if (isLinked(value)) return { ok: true, value };
  const unseen = { state: undefined, currentState: undefined, pendingState: undefined, observedThrough: undefined };
  return { ok: true, value: { ...value, status: { ...status, ...nothingShown, ...unseen, drift: undefined } } };
}

/** True if annotation or proof link the endpoint that the status of an observed Compute shows. */
export function isLinked({ metadata, status: { endpointID, proof } }: Pick<Compute, "metadata" | "status">): boolean {
  return [annotation({ metadata }, "endpointID"), proof?.endpointID].includes(endpointID);
}

/**
 * The branch that a Compute is to be on. While its `branchName` or `branchRef` is resolved to none, that is the one
 * where its endpoint is; without an endpoint, or if that is lost, it is empty, which is no branch's id.
 */
export function branchIDOf(compute: Pick<Compute, "spec" | "status">): string {
  const { branchID, endpointID, gone } = compute.status;
  const isThere = endpointID !== undefined && endpointID !== gone;
  return compute.spec.branchID ?? resolvedID(compute) ?? (isThere ? branchID : undefined) ?? "";
}

/** The id that `spec.branchName` or `spec.branchRef` was last resolved to, if to any. */
export function resolvedID({ spec, status }: Pick<Compute, "spec" | "status">): string | undefined {
  const { name, id } = status.resolvedBranch ?? {};
  const given = givenName(spec);
  return given !== undefined && name === given ? id : undefined;
}

/** The spec's name of its branch, as `status.resolvedBranch` holds it; `undefined` where the spec gives the id. */
export function givenName({
  branchName,
  branchRef,
}: Pick<ComputeSpec, "branchName" | "branchRef">): string | undefined {
  return branchRef === undefined ? branchName : `Branch ${branchRef.name}`;
}

/** True if the Compute's `branchRef` names this Branch. */
export function namesBranch(
  { metadata, spec }: Pick<Compute, "metadata" | "spec">,
  { metadata: branch }: Pick<KubeObject, "metadata">,
): boolean {
  return spec.branchRef?.name === branch.name && metadata.namespace === branch.namespace;
}

/** The branch as the manifest gives it, for people. */
export function branchInWords({ spec }: Pick<Compute, "spec">): string {
  return spec.branchID ?? spec.branchName ?? spec.branchRef?.name ?? "";
}
