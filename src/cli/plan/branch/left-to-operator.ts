import type { BranchAction, BranchWrite } from "../../../operator/branch/action.ts";
import { notedUID, type Observation, type Unobserved } from "../../../operator/branch/observation.ts";
import { namesOf } from "../../../operator/branch/words.ts";
import { noteKeys } from "../../../operator/resources/names.ts";
import { isDerivedUID } from "../../manifests/derived-uid.ts";
import { inClusterOf, keeperOf as keeperOfEndpoint, operatorOf } from "../compute/left-to-operator.ts";
import type { CommandScope } from "../scope.ts";
import type { Project } from "../tracked.ts";

type End = Exclude<BranchAction, { kind: "note" }>;

/**
 * Refuses a write of `apply` to a branch that an operator keeps, or for a Branch that a cluster holds, and the deletion
 * of a branch with an endpoint on it that an operator keeps.
 */
export function leftToOperator(
  action: End,
  o: Observation | Unobserved,
  project: Project,
  { writes }: CommandScope,
): End {
  if (!writes || action.kind !== "write" || o.kind !== "observed") return action;
  if (!isDerivedUID(o.object.metadata.uid)) return refused(inClusterOf("Branch"));
  const { write } = action;
  if (write.op === "create") return action;
  const keeper = keeperOf(o.listing.byID(write.id));
  if (keeper !== undefined) {
    return refused(
      `Branch ${write.id} is kept by ${keeper}, so nothing is written to it. Change its Branch in the cluster.`,
    );
  }
  return write.op === "delete" ? (deletion(write, project) ?? action) : action;
}

/** The maker of a branch, by its note; `undefined`: nobody who left one, or `apply`. */
export function keeperOf(listed: Parameters<typeof notedUID>[0] | undefined): string | undefined {
  const fleet = listed?.note?.[noteKeys.fleet];
  return operatorOf(listed && notedUID(listed), typeof fleet === "string" ? fleet : undefined);
}

/** A branch takes its endpoints with it, also those that an operator keeps. */
function deletion({ id }: Extract<BranchWrite, { op: "delete" }>, { listing }: Project): End | undefined {
  if (listing?.kind !== "listed") return refused(`Branch ${id} is kept, because the computes on it cannot be listed.`);
  const kept = listing.endpoints.filter(
    (endpoint) => endpoint.branch_id === id && keeperOfEndpoint(endpoint) !== undefined,
  );
  if (kept.length === 0) return undefined;
  const ids = namesOf(kept.map((endpoint) => endpoint.id));
  return refused(
    `An operator keeps computes (${ids}) on branch ${id}, which would go with it. Delete their Computes in its cluster first, or give them another branch.`,
  );
}

function refused(message: string): End {
  return { kind: "show", reason: "Conflict", message };
}
