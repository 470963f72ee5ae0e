import type { ServiceContext } from "../context.ts";
import { planOf } from "../projects/owner.ts";
import { refusals } from "../refusal.ts";
import { planRules } from "../rules.ts";
import type { Project } from "../store/projects.ts";

/** The most branches of a project, on the free plan and on a paid one. */
const branchesOf = { free: 10, paid: 5000 } as const;

/** Refuses one more branch, or so many, where the project would have more than its owner's plan allows. */
export function refuseBeyondLimit({ store }: ServiceContext, project: Project, more = 1): void {
  const limit = planOf(store, project.owner) === "free" ? branchesOf.free : branchesOf.paid;
  if (store.branches.count(project.id) + more <= limit) return;
  throw refusals.branchesLimit(limit);
}

/** The same of branches without a parent. */
export function refuseRootBeyondLimit({ store, options }: ServiceContext, project: Project, more = 1): void {
  const plan = planOf(store, project.owner);
  const { rootBranches } = planRules(options.rules, plan);
  const roots = store.branches.list(project.id).filter(({ parentId }) => parentId === undefined);
  if (roots.length + more <= rootBranches) return;
  throw refusals.rootBranchesLimit(plan, rootBranches);
}

/** The same of protected branches. */
export function refuseProtectedBeyondLimit({ store, options }: ServiceContext, project: Project, more = 1): void {
  const plan = planOf(store, project.owner);
  const { protectedBranches } = planRules(options.rules, plan);
  const present = store.branches.list(project.id).filter(({ isProtected }) => isProtected);
  if (present.length + more <= protectedBranches) return;
  throw refusals.protectedBranchesLimit(plan, protectedBranches);
}
