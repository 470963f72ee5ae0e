import { type ComputeUnitRange, computeUnitRangeProblem } from "../../api/compute-units.ts";
import { errorCodes } from "../../api/error.ts";
import { defaultSuspendSeconds, neverSuspend } from "../../api/scale-to-zero.ts";
import type { ServiceContext } from "../context.ts";
import { refusals } from "../refusal.ts";
import { isIntervalAllowed, planRules, type Rules } from "../rules.ts";
import type { ComputeShape, StoredEndpoint } from "../store/endpoints.ts";
import type { Owner, Project } from "../store/projects.ts";
import { boundsProblem, hasControl } from "./setting-bounds.ts";

/** The largest compute of the free plan, in compute units: 2 vCPUs and 8 GB of memory. */
export const largestFreeSize = 2;

/** The default sizes of a new compute, in compute units. */
const defaultComputeUnits = 1;

/** Refuses sizes that do not exist, and those that the rules or the owner's plan do not include. */
export function checkSizes({ widestRange }: Rules, plan: string, sizes: ComputeUnitRange): void {
  const problem = computeUnitRangeProblem(sizes);
  if (problem !== undefined) throw refusals.invalid(problem);
  const { min, max } = sizes;
  if (max - min > widestRange) {
    throw refusals.invalid(
      `the autoscaling range from ${min} to ${max} CU is wider than ${widestRange} CU: raise the minimum or lower the maximum`,
    );
  }
  if (plan === "free" && max > largestFreeSize) {
    throw refusals.unprocessable(
      `the free plan ends at ${largestFreeSize} CU (2 vCPUs, 8 GB): ${max} CU needs a paid plan`,
    );
  }
}

/** Refuses an inactivity period that the owner's plan does not include. */
export function checkSuspension(rules: Rules, plan: string, seconds: number): void {
  const ofPlan = planRules(rules, plan);
  if (isIntervalAllowed(ofPlan, seconds)) return;
  if (seconds === neverSuspend) {
    throw refusals.unprocessable(
      `scale to zero cannot be turned off on the ${plan} plan: leave suspend_timeout_seconds at 0`,
    );
  }
  const allowed = ofPlan.alwaysOn
    ? "5 minutes or never: send 0, 300 or -1"
    : "fixed at 5 minutes: leave it out or at 0";
  throw refusals.unprocessable(`suspend_timeout_seconds on the ${plan} plan is ${allowed}`);
}

/** Refuses a compute that exists for a plan that would not let it be made. */
export function checkPlan(
  rules: Rules,
  plan: string,
  { minCu: min, maxCu: max, suspendTimeoutSeconds: seconds }: ComputeShape,
): void {
  checkSizes(rules, plan, { min, max });
  // The default, which a compute also has where no request named one.
  if (seconds !== defaultSuspendSeconds) checkSuspension(rules, plan, seconds);
}

/** The attributes by which a compute's server takes its settings or refuses them. */
export type Configured = Pick<StoredEndpoint, "type" | "minCu" | "maxCu" | "settings">;

/** Refuses settings of Postgres with which the compute's server would not start. */
export function checkSettings(
  { backend, options }: ServiceContext,
  project: Pick<Project, "pgVersion" | "owner">,
  wanted: Configured,
): void {
  const { pg_settings, pgbouncer_settings = {}, preload_libraries } = wanted.settings;
  const problem =
    boundsProblem(pg_settings, mostConnections(options.rules, wanted)) ?? backend.settingsProblem(project, pg_settings);
  if (problem !== undefined) throw refusals.invalid(`settings.pg_settings: ${problem}`);
  const others = [...Object.entries(pgbouncer_settings).flat(), ...(preload_libraries?.enabled_libraries ?? [])];
  if (others.some(hasControl)) throw refusals.invalid("settings have a control character");
}

/** A standby has room for as many connections as its primary, which may be of any size. */
function mostConnections({ maxConnections }: Rules, { type, minCu: min, maxCu: max }: Configured): number {
  return maxConnections(type === "read_only" ? { min: 56, max: 56 } : { min, max });
}

/**
 * The sizes that a create request asks for. If it names one end only, the other is the default, or as close to it as
 * the given end allows.
 */
export function sizesOf(min: number | undefined, max: number | undefined): ComputeUnitRange {
  return {
    min: min ?? Math.min(defaultComputeUnits, max ?? defaultComputeUnits),
    max: max ?? Math.max(defaultComputeUnits, min ?? defaultComputeUnits),
  };
}

/** The most branches, and the most computes, of all projects of an owner together: the console searches all of them. */
const mostWithin = 12_000;

/** Refuses more branches or computes than the projects of an owner may have together. */
export function refuseBeyondOwner(
  { store }: ServiceContext,
  owner: Owner,
  what: "branches" | "computes",
  more: number,
): void {
  if (store.projects.countWithin(owner, what) + more <= mostWithin) return;
  const most = `all projects of an owner together have at most ${mostWithin} ${what}`;
  throw refusals.limitExceeded(what, most, what === "branches" ? { code: errorCodes.branchesLimit } : {});
}
