import type { Endpoint } from "../../../api/endpoint.ts";
import { linksOf } from "../../../operator/claims/adopt-target.ts";
import type { Fleet } from "../../../operator/resources/signature.ts";
import type { TrackedCompute } from "../tracked.ts";

/** The Compute's own endpoint in the project's latest list, or the one that it only observes. */
export function linkedEndpoint(
  { object: compute, project: { listing } }: TrackedCompute,
  fleet?: Fleet,
): Endpoint | undefined {
  return listing?.kind === "listed" ? linksOf({ compute, endpoints: listing.index, fleet }).link?.endpoint : undefined;
}
