import type { Compute, ComputeSpec } from "../../resources/compute.ts";

/**
 * The spec as it is compared. A field left out is left to the service, with one exception: a compute that this
 * operator disabled is enabled again once the spec does not ask for that any more.
 */
export function desiredSpec({ spec, status }: Pick<Compute, "spec" | "status">): ComputeSpec {
  if (spec.disabled !== undefined || status.disabledByUs !== true) return spec;
  return { ...spec, disabled: false };
}
