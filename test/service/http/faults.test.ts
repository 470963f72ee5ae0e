import { describe, expect, it } from "vitest";
import { FaultPlan, Faults } from "../../../src/service/http/faults.ts";
import { Shop } from "../support/shop.ts";

/** The faults of these rules, with a random number that is the same each time. */
function planOf(rules: unknown, random = 0): FaultPlan {
  const plan = new FaultPlan(() => random);
  plan.set(Faults.parse(rules));
  return plan;
}

describe("a fault", () => {
  it.each([
    "refuse",
    "drop-before",
    "drop-after",
    "423",
    "429",
    "500",
    "503",
    "html",
    "cut",
    "delay",
    "fail-operations",
  ])("a fault may be of the kind %s, and is one of every method and route where it names none", (kind) => {
    expect(planOf([{ kind }]).next("GET", "/api/v2/auth")).toEqual({ method: "*", route: "*", kind });
  });

  it.each(["GET", "POST", "PATCH", "PUT", "DELETE"])("a fault may be for %s alone", (method) => {
    const plan = planOf([{ method, kind: "500" }]);
    const methods = ["GET", "POST", "PATCH", "PUT", "DELETE"];
    expect(methods.filter((one) => plan.next(one, "/api/v2/auth") !== undefined)).toEqual([method]);
  });

  it.each([
    ["*", "/api/v2/projects", true],
    ["/projects", "/api/v2/projects", true],
    ["/api/v2/projects", "/api/v2/projects", true],
    ["/projects", "/api/v2/projects/p", false],
    ["/projects/{project_id}", "/api/v2/projects", false],
    ["/projects/{project_id}", "/api/v2/projects/p", true],
    ["/projects/:id", "/api/v2/projects/p", true],
    ["/projects/*", "/api/v2/projects/p", true],
    ["/projects/*", "/api/v2/projects/p/endpoints", false],
    ["/projects/p/endpoints", "/api/v2/projects/q/endpoints", false],
    ["/projects/a b", "/api/v2/projects/a%20b", true],
    ["/projects", "/api/v2/projects/%zz", false],
    ["/auth", "/api/v2x/auth", false],
  ])("a fault of the route %s affects %s: %s", (route, path, affected) => {
    expect(planOf([{ route, kind: "500" }]).next("GET", path) !== undefined).toBe(affected);
  });

  it("a fault of every route leaves a path alone that only begins as those of the API do", () => {
    const shop = new Shop();
    shop.core.setFaults([{ method: "*", route: "*", kind: "500" }]);
    const status = (path: string) => {
      const exchange = shop.core.exchange({ method: "GET", path });
      return "reply" in exchange && exchange.reply.status;
    };
    expect(["/api/v2", "/api/v20/auth", "/healthz", "/api/v2/auth"].map(status)).toEqual([404, 404, 200, 500]);
  });

  it("a fault that does not match, or is used up, leaves the request to the next rule", () => {
    const plan = planOf([{ route: "/projects", kind: "500" }, { kind: "503", count: 1 }, { kind: "429" }]);
    const kinds = ["/api/v2/auth", "/api/v2/auth", "/api/v2/projects"].map((path) => plan.next("GET", path)?.kind);
    expect(kinds).toEqual(["503", "429", "500"]);
    plan.set([]);
    expect(plan.next("GET", "/api/v2/projects")).toBeUndefined();
  });

  it.each([
    [0.5, 0.4, true],
    [0.5, 0.5, false],
    [0, 0, false],
    [1, 0.999, true],
  ])("a fault of the rate %s and a random number of %s affects a request: %s", (rate, random, affected) => {
    expect(planOf([{ kind: "500", rate }], random).next("GET", "/api/v2/auth") !== undefined).toBe(affected);
  });

  it.each([
    { kind: "flood" },
    { kind: "500", method: "HEAD" },
    { kind: "500", route: "" },
    { kind: "500", route: "x".repeat(301) },
    { kind: "500", rate: 1.1 },
    { kind: "500", rate: -0.1 },
    { kind: "500", count: -1 },
    { kind: "500", count: 0.5 },
    { kind: "delay", ms: -1 },
    { kind: "delay", ms: 600_001 },
    { kind: "429", retryAfter: -1 },
    { kind: "429", retryAfter: 86_401 },
    { kind: "500", often: true },
    {},
  ])("a fault is refused beyond its bounds: %j", (fault) => {
    expect(Faults.safeParse([fault]).success).toBe(false);
  });

  it("a fault is taken at its bounds, and with at most a thousand others", () => {
    const widest = { kind: "429", route: "x".repeat(300), rate: 1, count: 0, ms: 600_000, retryAfter: 86_400 };
    expect(Faults.safeParse(Array.from({ length: 1000 }, () => widest)).success).toBe(true);
    expect(Faults.safeParse(Array.from({ length: 1001 }, () => widest)).success).toBe(false);
  });
});
