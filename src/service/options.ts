import { type Rules, rules } from "./rules.ts";

/** Behaviour of the service; every field has a default. */
export interface ServiceOptions {
  /** Speed of operations and inactivity timers, as a multiple of real time. */
  timeScale: number;
  /** The limits and roles that apply. */
  rules: Rules;
  /** True to serve nothing but what the specification shows. */
  strictSpec: boolean;
  /** True if `PUT /_faults` exists. */
  faults: boolean;
  /** Requests that one account may send before it is refused with 429; `undefined`: as many as it likes. */
  rateLimits: RateLimits | undefined;
  /** True if an operation in a project refuses other changes of its computes with 423, as at the public service. */
  projectLock: boolean;
  /** True if a deleted branch can be recovered for a week, and keeps its name for that time. */
  branchRecovery: boolean;
  /** The domain of the computes' host names; `undefined`: the vendor's. */
  domain: string | undefined;
}

export interface RateLimits {
  /** In any 60 seconds of the service's time, over all routes. */
  perMinute: number;
  /** In any second of the service's time, on one route. */
  perSecondAndRoute: number;
}

export const defaultOptions: ServiceOptions = {
  timeScale: 1,
  rules: rules.specification,
  strictSpec: false,
  faults: false,
  rateLimits: { perMinute: 700, perSecondAndRoute: 40 },
  projectLock: true,
  branchRecovery: false,
  domain: undefined,
};
