import { doing, meaningOf } from "../../operator/branch/words.ts";
import { defaultCreateSettleMs } from "../../operator/flags.ts";
import { placeOf } from "../../operator/objects/object.ts";
import type { Clock } from "../../operator/runtime/clock.ts";
import { givenAccount } from "../manifests/accounts.ts";
import { type BranchEntry, branchEntryOf, isOpen, keptEntryOf } from "../plan/branch-entry.ts";
import type { TrackedBranch } from "../plan/branch-inventory.ts";
import { dryRun, resolveName } from "../plan/carry-out.ts";
import { type BranchDryRun, dryRunBranch } from "../plan/carry-out-branch.ts";
import { Clients } from "../plan/clients.ts";
import type { Inventory } from "../plan/inventory.ts";
import { missingDatabases } from "../plan/missing-databases.ts";
import { orphansIn } from "../plan/orphans.ts";
import { hasChanges, hasProblems, isUnderWay, type Plan, type PlanEntry, planEntryOf } from "../plan/plan-entry.ts";
import { type Prepared, prepare, withTransport } from "../plan/prepare.ts";
import { tooManyDeletes, trackPruned } from "../plan/prune.ts";
import { trackPrunedBranches, undeclaredBranches } from "../plan/prune-branches.ts";
import { renderPlan } from "../plan/render.ts";
import { countsOf, prunedObjects } from "../plan/undeclared.ts";
import { Application } from "./apply.ts";
import { exportProjects } from "./export.ts";
import {
  type ApplyFlags,
  applySyntax,
  exportSyntax,
  type PruneFlags,
  parseApplyFlags,
  parseExportFlags,
  parsePlanFlags,
  planSyntax,
} from "./flags.ts";
import { type CliPorts, CommandProblem, readLine } from "./ports.ts";
import { reporting } from "./reporting.ts";

/** `compute-operator plan`: returns the exit status, 0 for nothing to do, 2 for changes, 1 for an error. */
export function planCommand(args: readonly string[], ports: CliPorts): Promise<number> {
  return reporting(planSyntax, parsePlanFlags, args, ports, (flags) =>
    withTransport(ports, async (transport) => {
      const options = { ...flags, createSettleMs: defaultCreateSettleMs, writes: false };
      const planned = await planAll(await prepare(options, ports, transport), ports, flags);
      ports.stdout(renderPlan(planned, flags.output, inColour(ports)));
      if (hasProblems(planned)) return 1;
      return hasChanges(planned) ? 2 : 0;
    }),
  );
}

/** `compute-operator apply`: returns the exit status, 0 if everything is as declared. */
export function applyCommand(args: readonly string[], ports: CliPorts): Promise<number> {
  return reporting(applySyntax, parseApplyFlags, args, ports, (flags) =>
    withTransport(ports, async (transport) =>
      apply(flags, await prepare({ ...flags, writes: true }, ports, transport), ports),
    ),
  );
}

/** Shows the plan, asks, and carries out what was shown: a plan that has changed meanwhile is not applied. */
async function apply(flags: ApplyFlags, prepared: Prepared, ports: CliPorts): Promise<number> {
  const { inventory } = prepared;
  const leaving = [
    ...prepared.tracked.map(({ compute }) => compute),
    ...inventory.branches.all.map(({ object }) => object),
  ].filter(({ metadata }) => metadata.deletionTimestamp !== undefined);
  if (leaving.length > 0) {
    const why = "is being deleted in its cluster, where the operator deletes it: remove it from the manifests";
    throw new CommandProblem(leaving.map(({ kind = "Compute", metadata }) => `${kind} ${placeOf(metadata)} ${why}`));
  }
  const shown = await planAll(prepared, ports, flags);
  ports.stdout(renderPlan(shown, "text", inColour(ports)));
  const tooMany = flags.prune
    ? tooManyDeletes(inventory, prepared.tracked, flags.namespace, flags.maxDeletes)
    : undefined;
  if (tooMany !== undefined) throw new CommandProblem([tooMany]);
  if (!hasChanges(shown) && !isUnderWay(shown)) return hasProblems(shown) ? 1 : 0;
  if (!flags.yes) {
    await confirm(ports);
    const now = await planAll(prepared, ports, flags);
    if (agreedTo(now) !== agreedTo(shown)) {
      throw new CommandProblem(["the service has changed since the plan was shown; nothing was sent. Run apply again"]);
    }
  }
  ports.stdout("");
  const { clock, signal } = ports;
  const application = new Application({ ...prepared, clock, signal, timeoutMs: flags.timeoutMs, say: ports.stdout });
  const { done, failed } = await application.run();
  ports.stdout(`\nApplied: ${done} as declared${failed === 0 ? "" : `, ${failed} not`}.`);
  return failed === 0 ? 0 : 1;
}

/** The part of a plan that a yes is for: what is sent, at once or after a wait, and what is refused. */
function agreedTo({ entries, branches = [] }: Plan): string {
  const agreed = [...branches, ...entries].flatMap((entry) => {
    // The plan after the answer finds what it adopts linked already.
    const { adopts: _, reason, message, ...what } = entry;
    if (what.step === "none") return [];
    if (what.step !== "wait") return [{ ...what, reason, message }];
    return what.fields.length === 0 ? [] : [what];
  });
  return JSON.stringify(agreed);
}

/** Asks a person. Throws `CommandProblem` if the answer is not yes, or nobody can be asked. */
async function confirm({ stdin, stdout, signal }: CliPorts): Promise<void> {
  if (stdin.isTTY !== true) {
    throw new CommandProblem(["standard input is not a terminal, so apply cannot ask: pass --yes to apply the plan"]);
  }
  stdout('\nApply this plan? Type "yes": ');
  if ((await readLine(stdin, signal)) !== "yes") throw new CommandProblem(["nothing was sent"]);
}

/** Lists the service and plans each Branch and Compute. `prune`: also those that are not declared any more. */
async function planAll(
  prepared: Prepared,
  { clock, signal }: CliPorts,
  { prune, pruneBranches, namespace }: PruneFlags & { namespace: string | undefined },
): Promise<Plan> {
  const { inventory, tracked, running, undeclared } = prepared;
  await inventory.refresh();
  // An interrupted list is no service that cannot be reached.
  signal.throwIfAborted();
  const planned = await planBranches(prepared, clock, { pruneBranches, namespace });
  if (inventory.scope.prunes) {
    tracked.push(...trackPruned(inventory, tracked, namespace, { clock, leaving: planned.leaving }));
  }
  for (const each of tracked) await resolveName(inventory, each, clock);
  const entries: PlanEntry[] = [];
  // In order: an endpoint that one Compute adopts is not available to the next.
  for (const each of tracked) {
    const branch = planned.entryOf(inventory.branches.named(each.compute));
    entries.push(planEntryOf(await dryRun(inventory, each, clock), each, inventory.scope, branch));
  }
  if (!inventory.scope.writes) {
    const missing = await missingDatabases(tracked, signal);
    for (const [index, each] of tracked.entries()) {
      const [entry, missingDatabase] = [entries[index], missing.get(each)];
      if (entry !== undefined && missingDatabase !== undefined) entries[index] = { ...entry, missingDatabase };
    }
  }
  const plan = planned.branches.length === 0 ? { entries } : { entries, branches: planned.branches };
  if (running === undefined) return plan;
  const orphans = orphansIn(inventory, running.isPartial);
  if (inventory.scope.writes) return { ...plan, orphans };
  if (!prune) return { ...plan, orphans, undeclared: countsOf(undeclared) };
  return { ...plan, orphans, pruned: prunedObjects(undeclared, inventory, tracked) };
}

interface PlannedBranches {
  branches: readonly BranchEntry[];
  entryOf: (branch: TrackedBranch | undefined) => BranchEntry | undefined;
  /** The ids of branches that are deleted, and their endpoints with them. */
  leaving: ReadonlySet<string>;
}

async function planBranches(
  { inventory, tracked }: Prepared,
  clock: Clock,
  { pruneBranches, namespace }: Pick<PruneFlags, "pruneBranches"> & { namespace: string | undefined },
): Promise<PlannedBranches> {
  const undeclared = inventory.scope.prunes ? undeclaredBranches(inventory, tracked, namespace) : [];
  if (pruneBranches && inventory.scope.prunes) {
    requireListed(inventory);
    trackPrunedBranches(undeclared, inventory, clock);
  }
  const runs: { run: BranchDryRun; of: TrackedBranch }[] = [];
  const mayLeave = { computes: new Set(inventory.computes), branches: new Set<TrackedBranch>() };
  for (const of of inventory.branches.all) {
    const run = await dryRunBranch(inventory, of, clock, mayLeave);
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

/** Only at a terminal, and not if the variable NO_COLOR is set (no-color.org). */
function inColour({ stdoutTerminal, env }: CliPorts): boolean {
  return stdoutTerminal && (env.NO_COLOR ?? "") === "";
}

/** `compute-operator export`: returns the exit status. */
export function exportCommand(args: readonly string[], ports: CliPorts): Promise<number> {
  return reporting(exportSyntax, parseExportFlags, args, ports, (flags) =>
    withTransport(ports, async (transport) => {
      const account = givenAccount({ baseURL: flags.baseURL, env: ports.env });
      const client = new Clients({ transport, clock: ports.clock }).of(account);
      const { yaml, notes } = await exportProjects(flags, client, ports.signal);
      if (yaml !== "") ports.stdout(yaml);
      for (const line of notes) ports.stderr(`compute-operator export: ${line}`);
      return 0;
    }),
  );
}
