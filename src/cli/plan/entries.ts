import type { Orphan } from "./orphans.ts";
import type { PrunedObject, UndeclaredCount } from "./undeclared.ts";

/** A field in which service and manifest differ; `theirs` is absent if the service shows none. */
export interface FieldChange {
  field: string;
  theirs?: string;
  ours: string;
}

export type PlanStep =
  | "create"
  | "patch"
  | "restart"
  | "reset"
  | "delete"
  | "release"
  | "none"
  | "wait"
  | "refuse"
  | "error";

/** The plan of one object: a line of the text, a row of the table, an item of the JSON. */
interface Entry {
  project: string;
  step: PlanStep;
  /** An existing endpoint or branch is adopted. */
  adopts?: true;
  /** The operator that keeps it, as its signature or note says; only where no cluster was read. */
  keptBy?: string;
  fields: readonly FieldChange[];
  /** A condition reason of the object. */
  reason?: string;
  message?: string;
}

export interface ComputeEntry extends Entry {
  compute: string;
  branch: string;
  type: string;
  endpoint?: string;
  /** The database or the role of the connection Secret is not at the service. */
  missingDatabase?: string;
  /** A warning that a field which is sent has an announced end at the public service. */
  deprecated?: string;
  /** The entry of the schedule in force (empty: none), and when that changes. */
  schedule?: { active: string; until?: string };
  /** Opening of the next window, while changes wait for one. */
  nextWindow?: string;
  /** The interruption that clients of the compute notice. */
  interrupts?: "restarts the compute, which cuts its connections" | "cuts its connections";
}

export interface BranchEntry extends Entry {
  /** The Branch, as `namespace/name`. */
  object: string;
  /** The name that the branch has at the service. */
  name: string;
  /** The service's id of the branch. */
  id?: string;
}

/** Contents of a plan. The other members are absent where they cannot be known: without a cluster. */
export interface Plan {
  entries: readonly ComputeEntry[];
  /** Absent where neither manifests nor `--prune` come to any. */
  branches?: readonly BranchEntry[];
  orphans?: readonly Orphan[];
  /** Objects that left the manifests, without `--prune`. */
  undeclared?: readonly UndeclaredCount[];
  /** With `--prune`: what becomes of those that are no Computes, or that stay. */
  pruned?: readonly PrunedObject[];
}

export type Summary = Record<PlanStep, number>;

export function summaryOf({ entries, branches = [], pruned = [] }: Plan): Summary {
  const summary: Summary = {
    create: 0,
    patch: 0,
    restart: 0,
    reset: 0,
    delete: 0,
    release: 0,
    none: 0,
    wait: 0,
    refuse: 0,
    error: 0,
  };
  for (const { step } of [...entries, ...branches, ...pruned]) summary[step] += 1;
  return summary;
}

/** True if `run` would change something at the service, now or after its wait, or an object leaves the cluster. */
export function hasChanges({ entries, branches = [], pruned = [] }: Plan): boolean {
  const isChanged = [...entries, ...branches].some(
    ({ step, reason, fields }) =>
      ["create", "patch", "restart", "reset", "delete", "release"].includes(step) ||
      (step === "wait" && reason !== "Paused" && (fields.length > 0 || reason === "EndpointLost")),
  );
  return isChanged || pruned.some(({ step }) => step === "delete");
}

/** True if all that is left to do waits for a window or for other members of a pool: a command waits for neither. */
export function isLeftForLater({ step, reason }: Pick<Entry, "step" | "reason">): boolean {
  return step === "wait" && (reason === "WaitingForWindow" || reason === "WaitingForTurn");
}

/** True if something is under way. A Compute that waits for its Branch is as far as the Branch is. */
export function isUnderWay({ entries, branches = [] }: Plan): boolean {
  return [...entries, ...branches].some(
    ({ step, reason = "" }) =>
      step === "wait" && !isLeftForLater({ step, reason }) && !["Paused", "BranchNotReady"].includes(reason),
  );
}

/** True if a person has to act before everything can be as declared. */
export function hasProblems({ entries, branches = [], pruned = [] }: Plan): boolean {
  return [...entries, ...branches, ...pruned].some(({ step }) => step === "refuse" || step === "error");
}
