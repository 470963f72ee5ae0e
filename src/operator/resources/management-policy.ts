/** An object with a management policy. */
interface Managed {
  spec: { managementPolicy?: string | undefined };
}

/** True for an object that is only read and shown: nothing is written to the service for it. */
export function isObserved({ spec }: Managed): boolean {
  return spec.managementPolicy === "Observe";
}
