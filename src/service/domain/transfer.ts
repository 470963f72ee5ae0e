import { isSameOwner, moveProjects, planOf } from "../accounts/owner.ts";
import { checkPlan, refuseBeyondOwner } from "../computes/limits.ts";
import type { ServiceContext } from "../context.ts";
import { refuseMuch } from "../kept-size.ts";
import { Refusal, refusals, required } from "../refusal.ts";
import type { Owner } from "../store/projects.ts";
import {
  mostOfKinds,
  refuseBeyondLimit,
  refuseProjectsBeyondLimit,
  refuseProtectedBeyondLimit,
  refuseRootBeyondLimit,
} from "./limits.ts";
import { usualWithin } from "./projects.ts";

/**
 * Moves projects from one owner to another, whose plan must allow what each of them has, and who must have room for
 * all. Hundreds of projects are looked at together. To be called in a transaction.
 */
export function transferProjects(
  context: ServiceContext,
  { ids, from, to }: { ids: readonly string[]; from: Owner; to: Owner },
  at: number,
): void {
  const { projects, branches, endpoints } = context.store;
  const own = new Set(projects.among(ids, from));
  const other = ids.find((id) => !own.has(id));
  if (other !== undefined) throw refusals.notFound(`project ${other}`);
  if (isSameOwner(from, to)) return;
  const plan = planOf(context.store, to);
  fitting(`the projects cannot go to ${to.id}`, () => refuseProjectsBeyondLimit(context, to, own.size));
  const [kept, others] = [projects.lengthAmong(ids), projects.lengthOfDetails(to)];
  fitting(`the projects cannot go to ${to.id}`, () => refuseMuch("settings", kept, () => others));
  for (const id of branches.projectsBeyond(ids, mostOfKinds(context, to))) {
    const project = { ...required("project", projects.get(id)), owner: to };
    fitting(`project ${id} cannot go to ${to.id}`, () => {
      refuseBeyondLimit(context, project, 0);
      refuseRootBeyondLimit(context, project, 0);
      refuseProtectedBeyondLimit(context, project, 0);
    });
  }
  for (const { projectId, ...shape } of endpoints.shapes(ids)) {
    fitting(`project ${projectId} cannot go to ${to.id}`, () => checkPlan(context.options.rules, plan, shape));
  }
  for (const { id, usual } of projects.usualShapes(ids)) {
    const what = `project ${id} cannot go to ${to.id}: default_endpoint_settings`;
    fitting(what, () => usualWithin(context, plan, usual));
  }
  moveProjects(context, ids, to, at);
  fitting(`the projects cannot go to ${to.id}`, () => {
    refuseBeyondOwner(context, to, "branches", 0);
    refuseBeyondOwner(context, to, "computes", 0);
  });
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
