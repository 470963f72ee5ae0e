import { type ComputeUnitRange, maxConnections } from "../api/compute-units.ts";
import { defaultSuspend, defaultSuspendSeconds, neverSuspend } from "../api/scale-to-zero.ts";

/** Names of the sets of rules. */
export const rulesNames = ["specification", "neon"] as const;
export type RulesName = (typeof rulesNames)[number];

/** The plans of accounts and organizations. */
export const plans = ["free", "launch", "scale", "business", "enterprise"] as const;
export type Plan = (typeof plans)[number];

/** Limits that depend on the plan of a project's owner. */
interface PlanRules {
  /** True if scale to zero can be turned off. */
  alwaysOn: boolean;
  /** The inactivity periods that a request may name; the default can always be left to the service. */
  intervals: "any" | "default" | "none";
  /** The most branches without a parent, the default branch among them. */
  rootBranches: number;
  protectedBranches: number;
}

/** The limits of the service. Every difference between the sets is a field of this table. */
export interface Rules {
  plans: Readonly<Record<Plan, PlanRules>>;
  /** The widest autoscaling range in CU, from its minimum to its maximum. */
  widestRange: number;
  /** Computes larger than this many CU never suspend. */
  largestSuspending: number;
  /** Direct connections that Postgres accepts. */
  maxConnections: (range: ComputeUnitRange) => number;
  /** True if a personal key lists projects only by organization. */
  listsByOrganization: boolean;
  /** True if a project shows the user of a personal key its permission. */
  showsPermissions: boolean;
  /** True if only an organization's administrators create keys that are scoped to a project. */
  projectKeysByAdministrators: boolean;
  /** Requests in a second by one project-scoped key. */
  projectKeyPerSecond: number;
}

const unlimited = { rootBranches: Number.POSITIVE_INFINITY, protectedBranches: Number.POSITIVE_INFINITY };
const specifiedPaid: PlanRules = { alwaysOn: true, intervals: "any", ...unlimited };
const neonScale: PlanRules = { alwaysOn: true, intervals: "any", rootBranches: 25, protectedBranches: 5 };

export const rules: Readonly<Record<RulesName, Rules>> = {
  /** The specification, and where it is silent what the public service has long done. */
  specification: {
    plans: {
      free: { ...specifiedPaid, alwaysOn: false },
      launch: specifiedPaid,
      scale: specifiedPaid,
      business: specifiedPaid,
      enterprise: specifiedPaid,
    },
    widestRange: Number.POSITIVE_INFINITY,
    largestSuspending: Number.POSITIVE_INFINITY,
    maxConnections,
    listsByOrganization: false,
    showsPermissions: false,
    projectKeysByAdministrators: false,
    projectKeyPerSecond: Number.POSITIVE_INFINITY,
  },
  /** The rules that the public service enforces in autumn 2026. */
  neon: {
    plans: {
      free: { alwaysOn: false, intervals: "none", rootBranches: 3, protectedBranches: 0 },
      launch: { alwaysOn: true, intervals: "default", rootBranches: 5, protectedBranches: 5 },
      scale: neonScale,
      business: neonScale,
      enterprise: neonScale,
    },
    widestRange: 8,
    largestSuspending: 16,
    maxConnections: neonMaxConnections,
    listsByOrganization: true,
    showsPermissions: true,
    projectKeysByAdministrators: true,
    projectKeyPerSecond: 10,
  },
};

/** The limits of a plan; an unknown plan has those of the free one. */
export function planRules({ plans: byPlan }: Rules, plan: string): PlanRules {
  const known = plans.find((name) => name === plan) ?? "free";
  return byPlan[known];
}

/** True if a request may name this inactivity period. */
export function isIntervalAllowed({ alwaysOn, intervals }: PlanRules, seconds: number): boolean {
  if (seconds === defaultSuspend) return true;
  if (seconds === neverSuspend) return alwaysOn;
  return intervals === "any" || (intervals === "default" && seconds === defaultSuspendSeconds);
}

/** Connections in autumn 2026: 104 at 0.25 CU, 419 at 1 CU, 3357 at 8 CU, 4000 above. */
function neonMaxConnections({ min, max }: ComputeUnitRange): number {
  const size = Math.min(max, 8 * min);
  return size > 8 ? 4000 : Math.max(100, Math.floor(419.65 * size));
}
