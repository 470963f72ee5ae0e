import type { Place } from "../domain/roles-and-databases.ts";
import { refusals } from "../refusal.ts";
import type { Branch } from "../store/branches.ts";
import type { Project } from "../store/projects.ts";
import type { World } from "../world.ts";
import { param } from "./route.ts";

/** A request whose path names a branch of the project. */
export interface BranchRequest {
  world: World;
  project: Project;
  at: number;
  params: Readonly<Record<string, string>>;
}

/** The branch that a request's path names. */
export function branchOf(request: Omit<BranchRequest, "at">): Branch {
  const branch = request.world.store.branches.get(request.project.id, param(request, "branch_id"));
  if (!branch) throw refusals.notFound("branch");
  return branch;
}

/** The place that a request's path names. */
export function placeOf(request: BranchRequest): Place {
  const { world, project, at } = request;
  return { world, project, branch: branchOf(request), at };
}
