import type { Caller } from "../accounts/caller.ts";
import { madeOnce } from "../made-once.ts";
import type { RateLimits, ServiceOptions } from "../options.ts";
import { type Refusal, refusals } from "../refusal.ts";
import type { Route } from "./route.ts";

const minute = 60_000;
const second = 1000;

/** So many windows are always kept. */
const fewWindows = 1000;

/**
 * Counts each account's requests in sliding windows: all of the last minute, and those of each route in the last
 * second; shorter with `--time-scale`. A project-scoped key has a limit of its own besides. Refused requests do not
 * count. Kept in memory: a restart of the service resets all counts.
 */
export class RateLimiter {
  readonly #limits: RateLimits;
  readonly #timeScale: number;
  readonly #projectKeyPerSecond: number;
  readonly #windows = new Map<string, Window>();
  /** The number of windows at which those are forgotten in which nothing counts any more. */
  #most = fewWindows;

  constructor(limits: RateLimits, timeScale: number, projectKeyPerSecond = Number.POSITIVE_INFINITY) {
    this.#limits = limits;
    this.#projectKeyPerSecond = projectKeyPerSecond;
    this.#timeScale = timeScale;
  }

  /** Admits a request, or refuses it with 429 and the time to wait. */
  admit(limited: Limited, route: LimitedRoute, at: number): void {
    if (this.#windows.size > this.#most) this.#forget(at);
    const windows = this.#windowsOf(limited, route);
    const refusal = this.#refusal(windows, at);
    if (refusal) throw refusal;
    for (const window of Object.values(windows)) window?.count(at);
  }

  /** The number of windows that are kept. */
  get windows(): number {
    return this.#windows.size;
  }

  /** True if `admit` would refuse the request now. */
  refuses(limited: Limited, route: LimitedRoute, at: number): boolean {
    return this.#refusal(this.#windowsOf(limited, route), at) !== undefined;
  }

  #windowsOf({ limitedAs: account, projectKey }: Limited, { method, path }: LimitedRoute): Windows {
    const { perMinute, perSecondAndRoute } = this.#limits;
    return {
      all: this.#window(`account ${account}`, perMinute, minute),
      ofRoute: this.#window(`account ${account} ${method} ${path}`, perSecondAndRoute, second),
      ofKey:
        projectKey === undefined ? undefined : this.#window(`key ${projectKey}`, this.#projectKeyPerSecond, second),
    };
  }

  /** Keys come and go without end. */
  #forget(at: number): void {
    for (const [name, window] of this.#windows) if (window.isEmpty(at)) this.#windows.delete(name);
    this.#most = Math.max(fewWindows, 2 * this.#windows.size);
  }

  #window(name: string, size: number, span: number): Window {
    return madeOnce(this.#windows, name, () => new Window(size, span / this.#timeScale));
  }

  #refusal({ all, ofRoute, ofKey }: Windows, at: number): Refusal | undefined {
    const { perMinute, perSecondAndRoute } = this.#limits;
    const ofAccount = Math.max(all.wait(at), ofRoute.wait(at));
    const wait = ofAccount || (ofKey?.wait(at) ?? 0);
    if (wait === 0) return undefined;
    const limit = ofAccount
      ? `${perMinute} requests a minute, and ${perSecondAndRoute} a second on each route`
      : `${this.#projectKeyPerSecond} requests a second by a project-scoped key`;
    return refusals.tooManyRequests(`rate limit exceeded: ${limit}`, Math.ceil(wait / 1000));
  }
}

/** The limits of a service; none where its options say so. */
export function limiterOf({ rateLimits, timeScale, rules }: ServiceOptions): RateLimiter | undefined {
  return rateLimits && new RateLimiter(rateLimits, timeScale, rules.projectKeyPerSecond);
}

/** The windows in which a request counts. */
interface Windows {
  all: Window;
  ofRoute: Window;
  ofKey: Window | undefined;
}

/** The route to which a request counts. */
type LimitedRoute = Pick<Route, "method" | "path">;

/** The account and the key to which a request counts. */
type Limited = Pick<Caller, "limitedAs" | "projectKey">;

/** The times of the requests that still count, oldest first. */
class Window {
  readonly #size: number;
  readonly #span: number;
  readonly #times: number[] = [];

  constructor(size: number, span: number) {
    this.#size = size;
    this.#span = span;
  }

  /** Milliseconds until another request is admitted; 0 if it is now. A clock that was set back resets the count. */
  wait(at: number): number {
    const counts = (time: number) => time <= at && at < time + this.#span;
    while (this.#times[0] !== undefined && !counts(this.#times[0])) this.#times.shift();
    const [oldest] = this.#times;
    return oldest !== undefined && this.#times.length >= this.#size ? oldest + this.#span - at : 0;
  }

  isEmpty(at: number): boolean {
    return this.wait(at) === 0 && this.#times.length === 0;
  }

  count(at: number): void {
    this.#times.push(at);
  }
}
