import { expect, it } from "vitest";
import { RateLimiter } from "../../../src/service/http/rate-limit.ts";

it("a clock that is set back keeps nobody waiting until it has caught up", () => {
  const limiter = new RateLimiter({ perMinute: 1, perSecondAndRoute: 1 }, 1);
  const admit = (at: number) => () => limiter.admit("acc-ana", "GET /projects", at);
  admit(3_600_000)();
  expect(admit(3_600_000)).toThrow("rate limit exceeded");
  expect(admit(0)).not.toThrow();
});
