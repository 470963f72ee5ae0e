import type { Endpoint } from "../../../api/endpoint.ts";
import { ownershipOf } from "../../../operator/claims/ownership.ts";
import type { TrackedCompute } from "../tracked.ts";

/** The Compute's own endpoint in the project's latest list. */
export function linkedEndpoint({ object, project: { listing } }: TrackedCompute): Endpoint | undefined {
  return listing?.kind === "listed" ? ownershipOf(object, listing.index).link?.endpoint : undefined;
}
