import { type ComputeUnitRange, computeUnitRangeProblem } from "../../api/compute-units.ts";
import { neverSuspend } from "../../api/scale-to-zero.ts";
import type { ServiceContext } from "../context.ts";
import { refusals } from "../refusal.ts";
import type { ComputeSettings } from "../store/details.ts";
import type { Project } from "../store/projects.ts";

/** The largest compute of the free plan, in compute units: 2 vCPUs and 8 GB of memory. */
export const largestFreeSize = 2;

/** The default sizes of a new compute, in compute units. */
const defaultComputeUnits = 1;

/** Refuses sizes that do not exist, and those that the owner's plan does not include. */
export function checkLimits(plan: string, sizes: ComputeUnitRange, suspendTimeoutSeconds: number): void {
  const problem = computeUnitRangeProblem(sizes);
  if (problem !== undefined) throw refusals.invalid(problem);
  if (plan !== "free") return;
  if (sizes.max > largestFreeSize) {
    throw refusals.planLimit(
      `the free plan ends at ${largestFreeSize} CU (2 vCPUs, 8 GB): ${sizes.max} CU needs a paid plan`,
    );
  }
  if (suspendTimeoutSeconds === neverSuspend) {
    throw refusals.planLimit("scale to zero cannot be turned off on the free plan: leave suspend_timeout_seconds at 0");
  }
}

/** Refuses settings of Postgres that the compute's server would not take. */
export function checkSettings({ backend }: ServiceContext, project: Project, { pg_settings }: ComputeSettings): void {
  const problem = backend.settingsProblem(project.pgVersion, pg_settings);
  if (problem !== undefined) throw refusals.invalid(problem);
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
