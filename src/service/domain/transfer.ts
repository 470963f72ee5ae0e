import { checkPlan } from "../computes/limits.ts";
import type { ServiceContext } from "../context.ts";
import { isSameOwner, moveProject, planOf } from "../projects/owner.ts";
import { Refusal, refusals } from "../refusal.ts";
import type { Owner, Project } from "../store/projects.ts";
import {
  refuseBeyondLimit,
  refuseProjectBeyondLimit,
  refuseProtectedBeyondLimit,
  refuseRootBeyondLimit,
} from "./limits.ts";

/** Moves projects from one owner to another, whose plan must allow what each of them has. */
export function transferProjects(
  context: ServiceContext,
  { ids, from, to }: { ids: readonly string[]; from: Owner; to: Owner },
  at: number,
): void {
  for (const id of ids) {
    const project = context.store.projects.get(id);
    if (!project || !isSameOwner(project.owner, from)) throw refusals.notFound(`project ${id}`);
    if (isSameOwner(from, to)) continue;
    refuseUnfit(context, { ...project, owner: to });
    moveProject(context, id, to, at);
  }
}

/** Refuses a project for which its owner's plan has no room, or whose branches or computes it does not allow. */
function refuseUnfit(context: ServiceContext, project: Project): void {
  try {
    refuseProjectBeyondLimit(context, project.owner);
    refuseBeyondLimit(context, project, 0);
    refuseRootBeyondLimit(context, project, 0);
    refuseProtectedBeyondLimit(context, project, 0);
    const plan = planOf(context.store, project.owner);
    for (const one of context.store.endpoints.shapes(project.id)) checkPlan(context.options.rules, plan, one);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    throw refusals.planIncompatible(`project ${project.id} cannot go to ${project.owner.id}: ${error.message}`);
  }
}
