/** The operator that manages a compute, as the compute's name says. */
export interface Management {
  /** The hash of the operator's fleet, if it has one. */
  fleet: string | undefined;
}

/** `k8s-<uid>`, or with a fleet `k8s-<fleet>-<key>-<uid>`; any other name means no operator. */
export function managementOf(name: string | undefined): Management | undefined {
  const fleet = /^k8s-([0-9a-f]{8})-[0-9a-f]{16}-[0-9a-f]{32}$/.exec(name ?? "")?.[1];
  if (fleet !== undefined) return { fleet };
  return /^k8s-[0-9a-f-]{36}$/.test(name ?? "") ? { fleet: undefined } : undefined;
}
