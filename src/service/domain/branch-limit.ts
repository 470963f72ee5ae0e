import type { ServiceContext } from "../context.ts";
import { planOf } from "../projects/owner.ts";
import { refusals } from "../refusal.ts";
import type { Project } from "../store/projects.ts";

/** The most branches of a project, on the free plan and on a paid one. */
const branchesOf = { free: 10, paid: 5000 } as const;

/** Refuses one more branch where the project has as many as its owner's plan allows. */
export function refuseBeyondLimit({ store }: ServiceContext, project: Project): void {
  const limit = planOf(store, project.owner) === "free" ? branchesOf.free : branchesOf.paid;
  if (store.branches.count(project.id) < limit) return;
  throw refusals.branchesLimit(limit);
}
