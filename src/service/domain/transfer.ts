import { isSameOwner, moveProject, planOf } from "../accounts/owner.ts";
import { checkPlan, refuseBeyondOwner } from "../computes/limits.ts";
import type { ServiceContext } from "../context.ts";
import { Refusal, refusals } from "../refusal.ts";
import type { Owner, Project } from "../store/projects.ts";
import {
  refuseBeyondLimit,
  refuseProjectBeyondLimit,
  refuseProtectedBeyondLimit,
  refuseRootBeyondLimit,
} from "./limits.ts";

/**
 * Moves projects from one owner to another, whose plan must allow what each of them has, and who must have room for
 * all. To be called in a transaction.
 */
export function transferProjects(
  context: ServiceContext,
  { ids, from, to }: { ids: readonly string[]; from: Owner; to: Owner },
  at: number,
): void {
  for (const id of ids) {
    const project = context.store.projects.get(id);
    if (!project || !isSameOwner(project.owner, from)) throw refusals.notFound(`project ${id}`);
    if (isSameOwner(from, to)) continue;
    fitting(`project ${id} cannot go to ${to.id}`, () => refuseUnfit(context, { ...project, owner: to }));
    moveProject(context, id, to, at);
  }
  if (isSameOwner(from, to)) return;
  fitting(`the projects cannot go to ${to.id}`, () => {
    refuseBeyondOwner(context, to, "branches", 0);
    refuseBeyondOwner(context, to, "computes", 0);
  });
}

/** Refuses a project for which its owner's plan has no room, or whose branches or computes it does not allow. */
function refuseUnfit(context: ServiceContext, project: Project): void {
  refuseProjectBeyondLimit(context, project.owner);
  refuseBeyondLimit(context, project, 0);
  refuseRootBeyondLimit(context, project, 0);
  refuseProtectedBeyondLimit(context, project, 0);
  const plan = planOf(context.store, project.owner);
  for (const one of context.store.endpoints.shapes(project.id)) checkPlan(context.options.rules, plan, one);
}

/** Runs a check; a refusal says what cannot be done. */
function fitting(what: string, check: () => void): void {
  try {
    check();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    throw refusals.planIncompatible(`${what}: ${error.message}`);
  }
}
