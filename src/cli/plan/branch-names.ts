import { branchNameNeeded } from "../../operator/compute/observe/observation.ts";
import { idsNamed, type NamedBranch } from "../../operator/connection/branch-lister.ts";
import type { Compute } from "../../operator/resources/compute.ts";
import type { Project, Tracked } from "./inventory.ts";

/** Lists the branches of a project, once for the command and only if one of its Computes needs them. */
export async function listBranches(project: Project, computes: readonly Tracked[], signal: AbortSignal): Promise<void> {
  if (project.branches?.kind === "ok" || project.listing?.kind !== "listed") return;
  if (!computes.some(({ compute }) => branchNameNeeded(compute) !== undefined)) return;
  project.branches = await project.client.branches.list(project.id, signal);
}

/** What the name of a Compute's branch comes to. A command has one list, and believes it. */
export function namedFor(compute: Compute, { branches }: Project): { named?: NamedBranch } {
  const branchName = branchNameNeeded(compute);
  if (branchName === undefined || branches === undefined) return {};
  if (branches.kind !== "ok") return { named: { kind: "failed", failure: branches } };
  const ids = idsNamed(branchName, branches.value);
  return { named: { kind: "listed", ids, forMs: Number.POSITIVE_INFINITY } };
}
