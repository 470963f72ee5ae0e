import type { Endpoint } from "../../api/endpoint.ts";
import { branchIDOf, type Compute } from "../resources/compute.ts";
import { isObserved } from "../resources/management-policy.ts";
import { type Fleet, keyOf, uidInSignature } from "../resources/signature.ts";
import { mayAdopt } from "./claims.ts";
import { type EndpointIndex, isOwn, linkTo, type Ownership, ownershipOf } from "./ownership.ts";

/** A Compute, a list, and `--fleet`. */
interface Sought {
  compute: Compute;
  endpoints: EndpointIndex;
  fleet: Fleet | undefined;
}

/** Endpoints that bear the key of the Compute, and not its uid; those of another fleet are never taken over. */
export function formersOf({ compute, endpoints, fleet }: Sought, of: "same" | "other" = "same"): Endpoint[] {
  if (fleet === undefined) return [];
  return endpoints
    .bearing(keyOf(compute), fleet, of)
    .filter(({ name }) => uidInSignature(name) !== compute.metadata.uid);
}

/** The endpoints that `spec.adopt` may mean: only of those that former Computes made there may be several. */
export function targetsOf({ compute, endpoints, fleet }: Sought): readonly Endpoint[] {
  const { adopt } = compute.spec;
  if (adopt === undefined) return [];
  if ("former" in adopt) return formersOf({ compute, endpoints, fleet });
  if ("branchPrimary" in adopt) return endpoints.primariesOf(branchIDOf(compute)).slice(0, 1);
  return [endpoints.byID(adopt.endpointID)].filter((named) => named !== undefined);
}

/**
 * The endpoint that a Compute is linked to. One that only observes shows what it made, else what it is linked to, else
 * what `spec.adopt` names.
 */
export function linksOf(sought: Sought): Ownership {
  const { compute, endpoints } = sought;
  const owned = ownershipOf(compute, endpoints);
  if (!isObserved(compute)) return owned;
  const { link, missing, duplicates, replacements } = owned;
  const own = [link, ...replacements, ...duplicates.map((each) => linkTo(compute, each))].find(
    (each) => each !== undefined && isOwn(each.proof),
  );
  const target = targetOf(sought);
  const shown = own ?? link ?? (target && { endpoint: target, proof: "adopted" as const });
  // A list that lags may lack what was shown before.
  const { endpointID } = compute.status;
  const lacks = endpointID !== undefined && endpoints.byID(endpointID) === undefined ? endpointID : undefined;
  return {
    link: shown,
    missing: shown === undefined ? (missing ?? lacks) : undefined,
    duplicates: [],
    replacements: [],
  };
}

/** The one endpoint that `spec.adopt` names, if it is where the Compute is to be. */
function targetOf(sought: Sought): Endpoint | undefined {
  const [target, ...others] = targetsOf(sought);
  return target !== undefined && others.length === 0 && mayAdopt(sought.compute, target) ? target : undefined;
}
