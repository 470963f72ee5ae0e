import { referredBranch } from "../../../operator/compute/observe/branch-ref.ts";
import { branchNameNeeded, type Observed, type ReferredBranch } from "../../../operator/compute/observe/observation.ts";
import type { Action } from "../../../operator/compute/plan/action.ts";
import { idsNamed } from "../../../operator/project/branch-lister.ts";
import { type Compute, givenName, namesBranch } from "../../../operator/resources/compute.ts";
import type { Inventory } from "../inventory.ts";
import { branchUnknown, firstFew } from "../messages.ts";
import type { Project, TrackedBranch } from "../tracked.ts";

/** The tracked Branch that a Compute's `branchRef` names. */
export function branchOf(compute: Compute, { tracked }: Inventory): TrackedBranch | undefined {
  return tracked.Branch.find(({ object, pruned }) => pruned === undefined && namesBranch(compute, object));
}

/** The branch that a Compute's `branchRef` comes to; `undefined`: it has none. */
function referredBy(compute: Compute, inventory: Inventory): ReferredBranch | undefined {
  const other = inventory.otherBranches.find(({ object }) => namesBranch(compute, object));
  const branch = branchOf(compute, inventory)?.object ?? other?.object;
  const isKnown = branch !== undefined || inventory.scope.cluster;
  return isKnown ? referredBranch(compute, branch) : unknownBranch(compute);
}

/** Of a Compute that is planned without a cluster. */
function unknownBranch({ spec }: Compute): ReferredBranch | undefined {
  const name = spec.branchRef === undefined ? undefined : givenName(spec);
  return name === undefined ? undefined : { kind: "unusable", reason: "BranchNotReady", message: branchUnknown(name) };
}

/** The branch that a Compute's branchName or branchRef comes to. A command has one list, and believes it. */
export function namedFor(
  compute: Compute,
  { branches }: Project,
  inventory: Inventory,
): { named?: NonNullable<Extract<Observed, { kind: "observed" }>["named"]> } {
  const referred = referredBy(compute, inventory);
  if (referred !== undefined) return { named: referred };
  const branchName = branchNameNeeded(compute);
  if (branchName === undefined || branches === undefined) return {};
  if (branches.kind !== "ok") return { named: { kind: "failed", failure: branches } };
  const ids = idsNamed(branchName, branches.value);
  return { named: { kind: "listed", ids, forMs: Number.POSITIVE_INFINITY } };
}

/** Refuses to create an endpoint on a branch that the project does not have, or to move one there. */
export function onUnknownBranch(
  action: Action,
  { compute: { spec } }: Observed,
  { id, branches }: Project,
): Extract<Action, { kind: "blocked" }> | undefined {
  const isPlaced = action.kind === "create" || (action.kind === "patch" && action.fields.includes("branchID"));
  const { branchID } = spec;
  if (!isPlaced || branchID === undefined || branches?.kind !== "ok") return undefined;
  // A project has at least one branch: a list without any says nothing.
  if (branches.value.length === 0 || branches.value.some((branch) => branch.id === branchID)) return undefined;
  const known = branches.value.map((branch) =>
    branch.name === undefined ? branch.id : `${branch.id} (${branch.name})`,
  );
  const message = `Project ${id} has no branch ${branchID}: it has ${firstFew(known.toSorted())}. Correct spec.branchID.`;
  return { kind: "blocked", reason: "BranchNotFound", message };
}
