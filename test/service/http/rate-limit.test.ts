import { expect, it } from "vitest";
import { RateLimiter } from "../../../src/service/http/rate-limit.ts";

const projects = { method: "GET", path: "/projects" } as const;

it("a clock that is set back keeps nobody waiting until it has caught up", () => {
  const limiter = new RateLimiter({ perMinute: 1, perSecondAndRoute: 1 }, 1);
  const admit = (at: number) => () => limiter.admit({ limitedAs: "acc-ana" }, projects, at);
  admit(3_600_000)();
  expect(admit(3_600_000)).toThrow("rate limit exceeded");
  expect(admit(0)).not.toThrow();
});

it("a clock that is set back ends no limit, and leaves no count of every request until it has caught up", () => {
  const limiter = new RateLimiter({ perMinute: 2, perSecondAndRoute: 2 }, 1);
  const admit = (at: number) => () => limiter.admit({ limitedAs: "acc-ana" }, projects, at);
  admit(3_600_000)();
  for (const at of [0, 1]) expect(admit(at)).not.toThrow();
  expect(admit(2)).toThrow("rate limit exceeded");
});

it("a project-scoped key has its own requests a second beside those of its organization", () => {
  const limiter = new RateLimiter({ perMinute: 100, perSecondAndRoute: 100 }, 1, 10);
  const admit = (projectKey: number | undefined, at: number) => () =>
    limiter.admit({ limitedAs: "org-shop", projectKey }, { method: "GET", path: `/projects/${at}` }, at);
  for (let sent = 0; sent < 10; sent += 1) admit(1, sent)();
  expect(admit(1, 999)).toThrow("10 requests a second by a project-scoped key");
  expect(admit(2, 999)).not.toThrow();
  expect(admit(undefined, 999)).not.toThrow();
  expect(admit(1, 1000)).not.toThrow();
});

it("a request that would be refused is known before, and asking counts nothing", () => {
  const limiter = new RateLimiter({ perMinute: 100, perSecondAndRoute: 1 }, 1, 1);
  const ana = { limitedAs: "acc-ana" };
  for (let asked = 0; asked < 10; asked += 1) expect(limiter.refuses(ana, projects, 0)).toBe(false);
  limiter.admit(ana, projects, 0);
  expect(limiter.refuses(ana, projects, 0)).toBe(true);
  expect(limiter.refuses(ana, { method: "GET", path: "/auth" }, 0)).toBe(false);
  expect(limiter.refuses(ana, { method: "POST", path: "/projects" }, 0)).toBe(false);
  expect(limiter.refuses({ limitedAs: "acc-bob" }, projects, 0)).toBe(false);
  expect(limiter.refuses(ana, projects, 1000)).toBe(false);
  const key = { limitedAs: "org-shop", projectKey: 1 };
  limiter.admit(key, { method: "GET", path: "/auth" }, 0);
  expect(limiter.refuses(key, projects, 0)).toBe(true);
});

it("a second and a minute pass as much sooner as timers run faster", () => {
  const admit = (limiter: RateLimiter, at: number) => () => limiter.admit({ limitedAs: "acc-ana" }, projects, at);
  const route = new RateLimiter({ perMinute: 100, perSecondAndRoute: 1 }, 10);
  const all = new RateLimiter({ perMinute: 1, perSecondAndRoute: 100 }, 10);
  const key = new RateLimiter({ perMinute: 100, perSecondAndRoute: 100 }, 10, 1);
  const send = (at: number) => () => key.admit({ limitedAs: "org-shop", projectKey: 1 }, projects, at);
  for (const begin of [admit(route, 0), admit(all, 0), send(0)]) begin();
  for (const early of [admit(route, 99), admit(all, 5999), send(99)]) expect(early).toThrow("rate limit exceeded");
  for (const late of [admit(route, 100), admit(all, 6000), send(100)]) expect(late).not.toThrow();
});

it("each request stops counting when its own second or minute is over", () => {
  const limiter = new RateLimiter({ perMinute: 6, perSecondAndRoute: 2 }, 1);
  const send = (at: number): boolean => {
    const refused = limiter.refuses({ limitedAs: "acc-ana" }, projects, at);
    if (!refused) limiter.admit({ limitedAs: "acc-ana" }, projects, at);
    return !refused;
  };
  const times = [0, 999, 999, 1000, 1998, 1999, 2000, 3000, 60_000, 60_998, 60_999, 61_000, 61_500];
  const admitted = times.filter(send);
  // Two in each second, and from the sixth on one whenever one of the minute before stops counting.
  expect(admitted).toEqual([0, 999, 1000, 1999, 2000, 3000, 60_000, 60_999, 61_000]);
});

it.each([
  [0, "60"],
  [1, "60"],
  [59_000, "1"],
  [59_001, "1"],
])("a refused client is told how long to wait, in whole seconds: %s ms after the first request", (at, seconds) => {
  const limiter = new RateLimiter({ perMinute: 1, perSecondAndRoute: 1 }, 1);
  limiter.admit({ limitedAs: "acc-ana" }, projects, 0);
  const headers = { "retry-after": seconds };
  expect(() => limiter.admit({ limitedAs: "acc-ana" }, projects, at)).toThrow(
    expect.objectContaining({ status: 429, headers }),
  );
});

it("a hundred thousand keys, each used once, are not remembered, and what counts still does", () => {
  const limiter = new RateLimiter({ perMinute: 1e9, perSecondAndRoute: 1e9 }, 1, 1);
  const send = (projectKey: number, at: number) => limiter.admit({ limitedAs: "org-shop", projectKey }, projects, at);
  for (let key = 0; key < 100_000; key += 1) send(key, key);
  expect(limiter.windows).toBeLessThan(5000);
  expect(() => send(99_999, 100_000)).toThrow("rate limit exceeded");
  expect(() => send(98_000, 100_000)).not.toThrow();
});
