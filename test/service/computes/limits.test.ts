import { describe, expect, it, onTestFinished, test, vi } from "vitest";
import { computeUnitSizes } from "../../../src/api/compute-units.ts";
import { defaultSuspendSeconds } from "../../../src/api/scale-to-zero.ts";
import { checkPlan } from "../../../src/service/computes/limits.ts";
import { rules } from "../../../src/service/rules.ts";
import { Seed } from "../../../src/service/seed/document.ts";
import { applySeed } from "../../../src/service/seed/seed.ts";
import { keys, preview, primary, project, Shop, shopSeed } from "../support/shop.ts";

/** Tries to create a compute in Bob's own project, which is on the free plan. */
function onFreePlan(fields: object) {
  return new Shop().send(keys.bob, "POST /projects/bob-own/endpoints", {
    endpoint: { branch_id: "br-bob", type: "read_only", ...fields },
  });
}

/** Tries to create a compute in the shop's project, which is on a paid plan. */
function onPaidPlan(fields: object) {
  return new Shop().ana(`POST /projects/${project}/endpoints`, {
    endpoint: { branch_id: preview, type: "read_write", ...fields },
  });
}

const between = (min: number, max: number) => ({ autoscaling_limit_min_cu: min, autoscaling_limit_max_cu: max });

it.each(computeUnitSizes.map((cu) => [cu]))("a fixed size of %s CU is taken", (cu) => {
  const answer = onPaidPlan(between(cu, cu));
  expect(answer.status).toBe(201);
  expect(answer.body["endpoint"]).toMatchObject(between(cu, cu));
});

test.each([
  [17, 17, "even numbers from 18 to 56"],
  [0.75, 0.75, "0.25, 0.5, 1 to 16"],
  [58, 58, "even numbers from 18 to 56"],
  [0, 0, "0.25, 0.5, 1 to 16"],
  [4, 2, "minimum of 4 CU is larger than the maximum of 2 CU"],
  [16, 18, "autoscaling ends at 16 CU"],
  [0.25, 56, "autoscaling ends at 16 CU"],
])("sizes from %s to %s CU are refused with what is allowed", (min, max, message) => {
  const answer = onPaidPlan(between(min, max));
  expect(answer.status).toBe(400);
  expect(answer.body["message"]).toContain(message);
});

it("sizes may range from 0.25 to 16 CU", () => {
  expect(onPaidPlan(between(0.25, 16)).status).toBe(201);
});

it("one limit changed alone is checked against the one that stays", () => {
  const shop = new Shop();
  const refused = shop.ana(`PATCH /projects/${project}/endpoints/${primary}`, {
    endpoint: { autoscaling_limit_min_cu: 2 },
  });
  expect(refused.status).toBe(400);
  expect(refused.body["message"]).toContain("minimum of 2 CU is larger than the maximum of 1 CU");
  expect(shop.get(primary)).toMatchObject(between(1, 1));
});

it("the free plan ends at 2 CU", () => {
  expect(onFreePlan(between(0.25, 2)).status).toBe(201);
  const refused = onFreePlan(between(0.25, 3));
  expect(refused.status).toBe(422);
  expect(refused.body["message"]).toContain("the free plan ends at 2 CU (2 vCPUs, 8 GB)");
});

it("the free plan cannot turn scale to zero off, nor can a change", () => {
  expect(onFreePlan({ suspend_timeout_seconds: -1 }).status).toBe(422);
  const shop = new Shop();
  const [endpoint] = [shop.send(keys.bob, "GET /projects/bob-own/endpoints").body["endpoints"]].flat();
  const id = JSON.stringify(endpoint).match(/ep-[a-z0-9-]+/)?.[0];
  const change = (fields: object) =>
    shop.send(keys.bob, `PATCH /projects/bob-own/endpoints/${id}`, { endpoint: fields }).status;
  expect(change({ suspend_timeout_seconds: -1 })).toBe(422);
  expect(change({ autoscaling_limit_max_cu: 4 })).toBe(422);
  expect(change({ autoscaling_limit_max_cu: 2 })).toBe(200);
});

it("a setting that the servers refuse is refused as they say, after one that has bounds", () => {
  const shop = new Shop();
  const problem = vi.spyOn(shop.core.context.backend, "settingsProblem").mockReturnValue("Postgres refuses them");
  onTestFinished(() => problem.mockRestore());
  const change = (pg_settings: object) =>
    shop.ana(`PATCH /projects/${project}/endpoints/${primary}`, { endpoint: { settings: { pg_settings } } });
  const refused = [change({ DateStyle: "x" }), change({ work_mem: "1" })];
  expect(refused.map(({ status, body }) => [status, body["message"]])).toEqual([
    [400, "settings.pg_settings: Postgres refuses them"],
    [400, expect.stringContaining('settings.pg_settings: invalid value for parameter "work_mem"')],
  ]);
  expect(problem.mock.calls).toEqual([[expect.objectContaining({ pgVersion: 17 }), { DateStyle: "x" }]]);
});

it("the plan that counts is the project owner's, not the caller's", () => {
  const answer = new Shop().send(keys.bob, `POST /projects/${project}/endpoints`, {
    endpoint: { branch_id: preview, type: "read_write", suspend_timeout_seconds: -1, ...between(8, 8) },
  });
  expect(answer.status).toBe(201);
});

describe("scale to zero", () => {
  test.each([-1, 0, 60, 604_800])("takes %s seconds", (seconds) => {
    expect(onPaidPlan({ suspend_timeout_seconds: seconds }).status).toBe(201);
  });

  test.each([-2, 1, 59, 604_801, 90.5])("refuses %s seconds", (seconds) => {
    const answer = onPaidPlan({ suspend_timeout_seconds: seconds });
    expect(answer.status).toBe(400);
    expect(answer.body["message"]).toContain("60 to 604800 seconds");
  });
});

it("a route takes 40 requests a second, separately for each account", () => {
  const shop = new Shop();
  const statuses = Array.from({ length: 41 }, () => shop.ana("GET /projects").status);
  expect(statuses.filter((status) => status === 200)).toHaveLength(40);
  const refused = shop.ana("GET /projects");
  expect(refused.status).toBe(429);
  expect(refused.headers["retry-after"]).toBe("1");
  expect(shop.ana("GET /auth").status).toBe(200);
  expect(shop.send(keys.bob, "GET /projects").status).toBe(200);
  shop.time.pass(1000);
  expect(shop.ana("GET /projects").status).toBe(200);
});

it("all routes together take 700 requests a minute", () => {
  const shop = new Shop();
  for (let request = 0; request < 700; request++) {
    expect(shop.ana(request % 2 === 0 ? "GET /projects" : "GET /auth").status).toBe(200);
    shop.time.pass(20);
  }
  const refused = shop.ana("GET /users/me");
  expect(refused.status).toBe(429);
  expect(refused.headers["retry-after"]).toBe("46");
  shop.time.pass(45_600);
  expect(shop.ana("GET /users/me").headers["retry-after"]).toBe("1");
  shop.time.pass(400);
  expect(shop.ana("GET /users/me").status).toBe(200);
});

it("the requests of one account count together, whatever its keys; an organization's count for the organization", () => {
  const shop = new Shop();
  shop.applySeed({
    accounts: [{ id: "acc-ana", email: "ana@example.com", apiKeys: [{ name: "two", key: "ana-two" }] }],
  });
  for (let request = 0; request < 20; request++) shop.ana("GET /projects");
  const statuses = Array.from({ length: 21 }, () => shop.send("ana-two", "GET /projects").status);
  expect(statuses.at(-2)).toBe(200);
  expect(statuses.at(-1)).toBe(429);
  const withEither = (request: number) => (request % 2 === 0 ? keys.shop : keys.scoped);
  const shared = Array.from({ length: 42 }, (_, n) => shop.send(withEither(n), "GET /projects").status);
  expect([shared.indexOf(429), ...shared.slice(-2)]).toEqual([40, 429, 429]);
});

it("the requests before a reset do not count any more", () => {
  const seed = Seed.parse(shopSeed);
  const shop = new Shop({
    testControls: { applySeed: (context, at) => applySeed(context, seed, at), advance: () => {} },
  });
  for (let request = 0; request < 41; request++) shop.ana("GET /projects");
  expect(shop.ana("GET /projects").status).toBe(429);
  shop.send(undefined, "POST /_reset");
  expect(shop.ana("GET /projects").status).toBe(200);
});

it("requests that are refused change nothing and do not count", () => {
  const shop = new Shop();
  for (let request = 0; request < 100; request++) shop.ana("GET /auth");
  shop.time.pass(1000);
  expect(shop.ana("GET /auth").status).toBe(200);
});

/** Tries whether a compute that exists may come to an owner of a plan. */
function fitting(plan: string, suspendTimeoutSeconds: number): void {
  checkPlan(rules.neon, plan, { minCu: 0.25, maxCu: 0.25, suspendTimeoutSeconds });
}

it.each(["free", "launch"])("a compute whose inactivity is named as what the default is fits the plan %s", (plan) => {
  expect(fitting(plan, defaultSuspendSeconds)).toBeUndefined();
});

it.each([
  ["free", "is fixed at 5 minutes: leave it out or at 0"],
  ["launch", "is 5 minutes or never: send 0, 300 or -1"],
])("a compute that suspends after ten minutes does not fit the plan %s, which %s", (plan, why) => {
  expect(() => fitting(plan, 600)).toThrow(`suspend_timeout_seconds on the ${plan} plan ${why}`);
});
