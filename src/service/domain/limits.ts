import { errorCodes } from "../../api/error.ts";
import { planOf } from "../accounts/owner.ts";
import { refuseBeyondOwner } from "../computes/limits.ts";
import type { ServiceContext } from "../context.ts";
import { refusals } from "../refusal.ts";
import { planRules } from "../rules.ts";
import type { BranchKind } from "../store/branches.ts";
import type { Owner, Project } from "../store/projects.ts";
import type { Store } from "../store/store.ts";

/** The most branches of a project, and the most projects of an owner, at which the console's first page looks. */
function allowedBy(plan: string): { branches: number; projects: number } {
  return plan === "free" ? { branches: 10, projects: 100 } : { branches: 5000, projects: 1000 };
}

const code = errorCodes.branchesLimit;

/** The most projects of an owner with this plan. */
export function mostProjects(plan: string): number {
  return allowedBy(plan).projects;
}

/** Refuses so many more projects where their owner would have more than the plan allows. */
export function refuseProjectsBeyondLimit({ store }: ServiceContext, owner: Owner, more: number): void {
  const limit = mostProjects(planOf(store, owner));
  if (store.projects.count(owner) + more <= limit) return;
  const most = `an owner of this plan has at most ${limit} projects`;
  throw refusals.limitExceeded("projects", most, { code: errorCodes.projectsLimit });
}

/** The most branches of each kind that a project of an owner has. */
export function mostOfKinds({ store, options }: ServiceContext, owner: Owner): Readonly<Record<BranchKind, number>> {
  const { rootBranches: root, protectedBranches } = planRules(options.rules, planOf(store, owner));
  return { any: mostBranches(store, { owner }), root, protected: protectedBranches };
}

/** The most branches of a project, and the most deleted ones that it keeps beside them. */
export function mostBranches(store: Store, { owner }: Pick<Project, "owner">): number {
  return allowedBy(planOf(store, owner)).branches;
}

/** Refuses one more branch, or so many, where the project would have more than its owner's plan allows. */
export function refuseBeyondLimit(context: ServiceContext, project: Project, more = 1): void {
  const { store } = context;
  const limit = mostBranches(store, project);
  if (store.branches.count(project.id) + more > limit) {
    throw refusals.limitExceeded("branches", `a project of this plan has at most ${limit} branches`, { code });
  }
  if (more > 0) refuseBeyondOwner(context, project.owner, "branches", more);
}

/** The same of branches without a parent. */
export function refuseRootBeyondLimit(context: ServiceContext, project: Project, more = 1): void {
  const { plan, limit, count } = ofPlan(context, project, "root");
  if (count + more <= limit) return;
  const most = `a project of the ${plan} plan has at most ${limit} root branches`;
  const which = "the default branch and schema-only branches among them";
  throw refusals.limitExceeded("root branches", `${most}, ${which}`, { code });
}

/** The same of protected branches. */
export function refuseProtectedBeyondLimit(context: ServiceContext, project: Project, more = 1): void {
  const { plan, limit, count } = ofPlan(context, project, "protected");
  if (count + more <= limit) return;
  if (limit === 0) {
    const message = `the ${plan} plan has no protected branches: leave protected out, or choose a paid plan`;
    throw refusals.unprocessable(message, code);
  }
  const how = { remedy: "set protected to false on another one", code };
  throw refusals.limitExceeded("protected branches", `a project has at most ${limit} protected branches`, how);
}

/** The owner's plan with its limit of a kind of branches, and how many of it the project has. */
function ofPlan(context: ServiceContext, { id, owner }: Project, kind: BranchKind) {
  const { store } = context;
  return {
    plan: planOf(store, owner),
    limit: mostOfKinds(context, owner)[kind],
    count: store.branches.count(id, kind),
  };
}
