import { endpointNamedBy } from "../../claims/ownership.ts";
import { shownReason } from "../../objects/conditions-of.ts";
import type { Interests } from "../../project/project-users.ts";
import { branchIDOf, type Compute } from "../../resources/compute.ts";
import { rowOf } from "../words/reasons.ts";
import { branchNameNeeded } from "./observation.ts";

/** Reasons, besides the stalled ones, that may end as soon as any endpoint comes, goes or moves. */
const endedByAny: ReadonlySet<string | undefined> = new Set(["CreateUnknown", "EndpointLost"]);

/** Changes of its project that affect a Compute, besides those of its own endpoint. */
export function interestsOf(compute: Compute): Interests {
  const { type } = compute.spec;
  const branchName = branchNameNeeded(compute);
  const named = endpointNamedBy(compute);
  const pendingOn = compute.status.pendingWrite?.branchID;
  const reason = shownReason(compute);
  return {
    endpointIDs: named === undefined ? [] : [named],
    primariesOf: type === "read_write" ? [branchIDOf(compute)] : [],
    ...(pendingOn === undefined ? {} : { pendingOn }),
    ...(branchName === undefined ? {} : { branchName }),
    anyPlace: rowOf(reason)?.stalled === true || endedByAny.has(reason),
  };
}
