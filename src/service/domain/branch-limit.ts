import type { ServiceContext } from "../context.ts";
import { planOf } from "../projects/owner.ts";
import { refusals } from "../refusal.ts";
import { planRules } from "../rules.ts";
import type { Project } from "../store/projects.ts";

/** The most branches of a project, on the free plan and on a paid one. */
const branchesOf = { free: 10, paid: 5000 } as const;

/** Refuses one more branch where the project has as many as its owner's plan allows. */
export function refuseBeyondLimit({ store }: ServiceContext, project: Project): void {
  const limit = planOf(store, project.owner) === "free" ? branchesOf.free : branchesOf.paid;
  if (store.branches.count(project.id) < limit) return;
  throw refusals.branchesLimit(limit);
}

/** Refuses one more branch without a parent where the owner's plan allows no more. */
export function refuseRootBeyondLimit({ store, options }: ServiceContext, project: Project): void {
  const plan = planOf(store, project.owner);
  const { rootBranches } = planRules(options.rules, plan);
  const roots = store.branches.list(project.id).filter(({ parentId }) => parentId === undefined);
  if (roots.length < rootBranches) return;
  throw refusals.rootBranchesLimit(plan, rootBranches);
}

/** Refuses one more protected branch where the owner's plan allows no more. */
export function refuseProtectedBeyondLimit({ store, options }: ServiceContext, project: Project): void {
  const plan = planOf(store, project.owner);
  const { protectedBranches } = planRules(options.rules, plan);
  if (store.branches.list(project.id).filter(({ isProtected }) => isProtected).length < protectedBranches) return;
  throw refusals.protectedBranchesLimit(plan, protectedBranches);
}
