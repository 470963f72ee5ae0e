/** How the service behaves; every field has a default. */
export interface ServiceOptions {
  /** How many times faster than life operations and inactivity timers run. */
  timeScale: number;
  /** Whether to serve nothing but what the specification shows. */
  strictSpec: boolean;
  /** Whether `PUT /_faults` exists. */
  faults: boolean;
  /** Requests that one account may send before it is refused with 429; `undefined`: as many as it likes. */
  rateLimits: RateLimits | undefined;
  /** Whether an operation in a project refuses other changes of its computes with 423, as at the public service. */
  projectLock: boolean;
  /** Whether a deleted branch can be recovered for a week, and keeps its name for that time. */
  branchRecovery: boolean;
  /** Below which computes have their host names; `undefined`: the vendor's. */
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
  strictSpec: false,
  faults: false,
  rateLimits: { perMinute: 700, perSecondAndRoute: 40 },
  projectLock: true,
  branchRecovery: false,
  domain: undefined,
};
