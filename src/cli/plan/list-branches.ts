import { BranchListing } from "../../api/branch-listing.ts";
import { branchNameNeeded } from "../../operator/compute/observe/observation.ts";
import type { Clock } from "../../operator/runtime/clock.ts";
import type { Project, TrackedCompute } from "./tracked.ts";

/**
 * Lists the branches of a project: with `always` at each call, else at most once for a command, and only for a Compute
 * that names its branch or whose branch no listed endpoint is on.
 */
export async function listBranches(
  project: Project,
  computes: readonly TrackedCompute[],
  always: boolean,
  { clock, signal }: { clock: Clock; signal: AbortSignal },
): Promise<void> {
  const { branches, listing } = project;
  const list = async () => {
    const startedAt = clock.monotonic();
    const answer = await project.client.branches.list(project.id, signal);
    project.branches = answer;
    project.branchListing = answer.kind === "ok" ? new BranchListing(answer.value, startedAt) : undefined;
  };
  if (always) return list();
  if (branches?.kind === "ok" || listing?.kind !== "listed") return;
  const isNamed = computes.some(({ object }) => branchNameNeeded(object) !== undefined);
  const known = new Set(listing.endpoints.map(({ branch_id }) => branch_id));
  const isUnknown = computes.some(({ object: { spec } }) => spec.branchID !== undefined && !known.has(spec.branchID));
  // A service may have no route for branches: that is asked once, unless a name depends on it.
  if (isNamed || (isUnknown && branches === undefined)) await list();
}
