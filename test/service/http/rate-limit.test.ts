import { expect, it } from "vitest";
import { RateLimiter } from "../../../src/service/http/rate-limit.ts";

it("a clock that is set back keeps nobody waiting until it has caught up", () => {
  const limiter = new RateLimiter({ perMinute: 1, perSecondAndRoute: 1 }, 1);
  const admit = (at: number) => () => limiter.admit({ limitedAs: "acc-ana" }, "GET /projects", at);
  admit(3_600_000)();
  expect(admit(3_600_000)).toThrow("rate limit exceeded");
  expect(admit(0)).not.toThrow();
});

it("a project-scoped key has its own requests a second beside those of its organization", () => {
  const limiter = new RateLimiter({ perMinute: 100, perSecondAndRoute: 100 }, 1, 10);
  const admit = (projectKey: number | undefined, at: number) => () =>
    limiter.admit({ limitedAs: "org-shop", projectKey }, `GET /projects/${at}`, at);
  for (let sent = 0; sent < 10; sent += 1) admit(1, sent)();
  expect(admit(1, 999)).toThrow("10 requests a second by a project-scoped key");
  expect(admit(2, 999)).not.toThrow();
  expect(admit(undefined, 999)).not.toThrow();
  expect(admit(1, 1000)).not.toThrow();
});
