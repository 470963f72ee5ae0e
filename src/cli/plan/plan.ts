import { doing, meaningOf } from "../../operator/branch/words.ts";
import type { PruneFlags } from "../commands/flags.ts";
import { CommandProblem } from "../commands/ports.ts";
import { branchEntryOf, isOpen, keptEntryOf } from "./branch/entry.ts";
import { trackPrunedBranches, undeclaredBranches } from "./branch/prune.ts";
import { type BranchDryRun, branchStrategy } from "./branch/strategy.ts";
import { computeEntryOf } from "./compute/entry.ts";
import { missingDatabases } from "./compute/missing-databases.ts";
import { branchOf } from "./compute/named-branch.ts";
import { trackPrunedComputes } from "./compute/prune.ts";
import { computeStrategy, resolveName } from "./compute/strategy.ts";
import type { BranchEntry, ComputeEntry, Plan } from "./entries.ts";
import type { Inventory } from "./inventory.ts";
import { orphansIn } from "./orphans.ts";
import type { Prepared } from "./prepare.ts";
import { dryRun } from "./strategy.ts";
import type { TrackedBranch } from "./tracked.ts";
import { countsOf, prunedObjects } from "./undeclared.ts";

/** Lists the service and plans each Branch and Compute. `prune`: also those that are not declared any more. */
export async function planAll(
  prepared: Prepared,
  { prune, pruneBranches, namespace }: PruneFlags & { namespace: string | undefined },
): Promise<Plan> {
  const { inventory, running, undeclared } = prepared;
  const { signal } = inventory.options;
  await inventory.refresh();
  // An interrupted list is no service that cannot be reached.
  signal.throwIfAborted();
  const planned = await planBranches(inventory, { pruneBranches, namespace });
  if (inventory.scope.prunes) trackPrunedComputes(inventory, namespace, planned.leaving);
  const computes = inventory.tracked.Compute;
  for (const each of computes) await resolveName(each, inventory);
  const entries: ComputeEntry[] = [];
  // In order: an endpoint that one Compute adopts is not available to the next.
  for (const each of computes) {
    const branch = planned.entryOf(branchOf(each.object, inventory));
    entries.push(computeEntryOf(await dryRun(computeStrategy, each, inventory), each, inventory.scope, branch));
  }
  if (!inventory.scope.writes) {
    const missing = await missingDatabases(computes, signal);
    for (const [index, each] of computes.entries()) {
      const [entry, missingDatabase] = [entries[index], missing.get(each)];
      if (entry !== undefined && missingDatabase !== undefined) entries[index] = { ...entry, missingDatabase };
    }
  }
  const plan = planned.branches.length === 0 ? { entries } : { entries, branches: planned.branches };
  if (running === undefined) return plan;
  const orphans = orphansIn(inventory, running.isPartial);
  if (inventory.scope.writes) return { ...plan, orphans };
  if (!prune) return { ...plan, orphans, undeclared: countsOf(undeclared) };
  return { ...plan, orphans, pruned: prunedObjects(undeclared, inventory, computes) };
}

interface PlannedBranches {
  branches: readonly BranchEntry[];
  entryOf: (branch: TrackedBranch | undefined) => BranchEntry | undefined;
  /** The ids of branches that are deleted, and their endpoints with them. */
  leaving: ReadonlySet<string>;
}

async function planBranches(
  inventory: Inventory,
  { pruneBranches, namespace }: Pick<PruneFlags, "pruneBranches"> & { namespace: string | undefined },
): Promise<PlannedBranches> {
  const undeclared = inventory.scope.prunes ? undeclaredBranches(inventory, namespace) : [];
  if (pruneBranches && inventory.scope.prunes) {
    requireListed(inventory);
    trackPrunedBranches(undeclared, inventory);
  }
  const runs: { run: BranchDryRun; of: TrackedBranch }[] = [];
  const mayLeave = { computes: new Set(inventory.computes), branches: new Set<TrackedBranch>() };
  for (const of of inventory.tracked.Branch) {
    const run = await dryRun(branchStrategy, of, inventory, mayLeave);
    if (run.action.kind === "write") mayLeave.branches.add(of);
    runs.push({ run, of });
  }
  const open = runs.flatMap(({ run, of }) => (isOpen(run) ? [of] : []));
  const entries: { entry: BranchEntry; of?: TrackedBranch }[] = runs.map(({ run, of }) => ({
    entry: branchEntryOf(run, of, inventory.scope, open),
    of,
  }));
  if (!pruneBranches) entries.push(...undeclared.map((each) => ({ entry: keptEntryOf(each) })));
  const leaving = entries.flatMap(({ entry: { step, id } }) => (step === "delete" && id !== undefined ? [id] : []));
  return {
    branches: entries.map(({ entry }) => entry).toSorted((a, b) => (a.object < b.object ? -1 : 1)),
    entryOf: (branch) => entries.find(({ of }) => branch !== undefined && of === branch)?.entry,
    leaving: new Set(leaving),
  };
}

/** Throws `CommandProblem` where the branches of a project cannot be listed: nothing can be concluded then. */
function requireListed({ projects }: Inventory): void {
  const problems = projects.flatMap((project) => {
    const { branches } = project;
    if (branches === undefined || branches.kind === "ok") return [];
    return [`--prune-branches: ${meaningOf(branches, doing.list(project.id)).message}`];
  });
  if (problems.length > 0) throw new CommandProblem(problems);
}
