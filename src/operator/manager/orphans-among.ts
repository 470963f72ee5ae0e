import type { OperatorOptions } from "../options.ts";
import type { OrphansAmong } from "../project/orphans.ts";
import type { Compute } from "../resources/compute.ts";
import { fleetOf, keyOf, signatureIn } from "../resources/signature.ts";
import { memoize } from "../runtime/caches.ts";

/** The Computes that are watched, of whatever shard. */
export interface WatchedComputes {
  has(uid: string): boolean;
  all(): readonly Compute[];
}

const keyFor = memoize(keyOf);

/**
 * The endpoints with a signature of this fleet and a uid that no Compute has; `undefined` without a fleet. The key
 * hides the namespace: if only some are watched, the keys of their Computes alone are known, and an endpoint with any
 * other key may be another process's.
 */
export function orphansAmong(
  { fleet, namespaces }: Pick<OperatorOptions, "fleet" | "namespaces">,
  computes: WatchedComputes,
): OrphansAmong | undefined {
  if (fleet === undefined) return undefined;
  const own = fleetOf(fleet);
  return (endpoints) => {
    const without = endpoints.filter(({ name }) => {
      const signature = signatureIn(name);
      return signature?.fleet === own && !computes.has(signature.uid);
    });
    if (namespaces.length === 0 || without.length === 0) return without;
    const keys = new Set(computes.all().map(keyFor));
    return without.filter(({ name }) => keys.has(signatureIn(name)?.key ?? ""));
  };
}
