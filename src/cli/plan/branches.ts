import type { Branch } from "../../api/branch.ts";
import { BranchListing } from "../../api/branch-listing.ts";
import { branchNameNeeded, type Observed } from "../../operator/compute/observe/observation.ts";
import type { Action } from "../../operator/compute/plan/action.ts";
import { idsNamed } from "../../operator/project/branch-lister.ts";
import type { Compute } from "../../operator/resources/compute.ts";
import type { BranchInventory } from "./branch-inventory.ts";
import type { InventoryOptions, Project, Tracked } from "./inventory.ts";

/** The most branches in a message. */
const mostNamed = 5;

/**
 * Lists the branches of a project: each time that `always` says so, else once for the command and only if a Compute
 * needs them: it gives a name, or an id that no endpoint of the project is on.
 */
export async function listBranches(
  project: Project,
  computes: readonly Tracked[],
  always: boolean,
  { clock, signal }: Pick<InventoryOptions, "clock" | "signal">,
): Promise<void> {
  const { branches, listing } = project;
  const list = async () => {
    const startedAt = clock.monotonic();
    const answer = await project.client.branches.list(project.id, signal);
    project.branches = answer;
    project.branchListing = answer.kind === "ok" ? new BranchListing(answer.value, startedAt) : undefined;
  };
  if (always) return list();
  if (branches?.kind === "ok" || listing?.kind !== "listed") return;
  const isNamed = computes.some(({ compute }) => branchNameNeeded(compute) !== undefined);
  const known = new Set(listing.endpoints.map(({ branch_id }) => branch_id));
  const isUnknown = computes.some(({ compute: { spec } }) => spec.branchID !== undefined && !known.has(spec.branchID));
  // A service may have no route for branches: that is asked once, unless a name depends on it.
  if (isNamed || (isUnknown && branches === undefined)) await list();
}

/** The branch that a Compute's branchName or branchRef comes to. A command has one list, and believes it. */
export function namedFor(
  compute: Compute,
  { branches }: Project,
  inventory: Pick<BranchInventory, "referredBy">,
): { named?: NonNullable<Extract<Observed, { kind: "observed" }>["named"]> } {
  const referred = inventory.referredBy(compute);
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
  const message = `Project ${id} has no branch ${branchID}: it has ${inWords(branches.value)}. Correct spec.branchID.`;
  return { kind: "blocked", reason: "BranchNotFound", message };
}

function inWords(branches: readonly Branch[]): string {
  const known = branches.map(({ id, name }) => (name === undefined ? id : `${id} (${name})`)).toSorted();
  const more = known.length - mostNamed;
  return known.slice(0, mostNamed).join(", ") + (more > 0 ? ` and ${more} more` : "");
}
