import { beforeEach, describe, expect, it } from "vitest";
import { type Plan, planRules, type RulesName, rules, rulesNames } from "../../src/service/rules.ts";
import type { Answer } from "./support/service.ts";
import { keys, preview, primary, project, Shop, staging } from "./support/shop.ts";

/** The shop under rules, with its plan. */
function shopOn(name: RulesName, plan: Plan = "scale"): Shop {
  const shop = new Shop({ rules: rules[name] });
  const seed = {
    organizations: [{ id: "org-plan", plan, members: [{ account: "acc-ana", role: "admin" as const }] }],
    projects: [{ id: "planned", owner: "org-plan", branches: [{ id: "br-planned", name: "main" }] }],
  };
  shop.applySeed(seed);
  return shop;
}

const sized = (min: number, max: number) => ({ autoscaling_limit_min_cu: min, autoscaling_limit_max_cu: max });

/** A compute that is idle and whose change waits for nothing. */
function staged(shop: Shop): string {
  shop.finishOperations();
  return primary;
}

function said({ status, body }: Answer): [number, unknown] {
  return [status, body["message"]];
}

it.each(rulesNames)("under %s a plan that is not known has the limits of the free one, and no others", (name) => {
  expect(planRules(rules[name], "platinum")).toBe(rules[name].plans.free);
});

describe("the width of an autoscaling range", () => {
  const widths = [
    { range: [0.25, 16], specification: 201, neon: 400 },
    { range: [0.5, 9], specification: 201, neon: 400 },
    { range: [0.25, 8], specification: 201, neon: 201 },
    { range: [8, 16], specification: 201, neon: 201 },
    { range: [20, 20], specification: 201, neon: 201 },
    { range: [8, 18], specification: 400, neon: 400 },
  ] as const;

  it.each(rulesNames.flatMap((name) => widths.map((width) => [name, ...width.range, width[name]] as const)))(
    "under %s a range from %s to %s CU is answered with %s, in a create and in a change",
    (name, min, max, status) => {
      const shop = new Shop({ rules: rules[name] });
      const endpoint = { branch_id: preview, type: "read_write", ...sized(min, max) };
      expect(shop.ana(`POST /projects/${project}/endpoints`, { endpoint }).status).toBe(status);
      const changed = shop.ana(`PATCH /projects/${project}/endpoints/${staged(shop)}`, { endpoint: sized(min, max) });
      expect(changed.status).toBe(status === 201 ? 200 : 400);
      const usual = { default_endpoint_settings: sized(min, max) };
      expect(shop.ana(`PATCH /projects/${project}`, { project: usual }).status).toBe(status === 201 ? 200 : 400);
    },
  );

  it("a range that is too wide is refused with what to change", () => {
    const endpoint = { branch_id: preview, type: "read_write", ...sized(0.5, 9) };
    expect(said(new Shop({ rules: rules.neon }).ana(`POST /projects/${project}/endpoints`, { endpoint }))).toEqual([
      400,
      "the autoscaling range from 0.5 to 9 CU is wider than 8 CU: raise the minimum or lower the maximum",
    ]);
  });
});

describe("scale to zero by plan", () => {
  /** The statuses for an interval that is left out, 0, 300, 60, 600 and -1, in this order. */
  const asked = [undefined, 0, 300, 60, 600, -1];
  it.each([
    ["specification", "free", [201, 201, 201, 201, 201, 422]],
    ["specification", "launch", [201, 201, 201, 201, 201, 201]],
    ["neon", "free", [201, 201, 422, 422, 422, 422]],
    ["neon", "launch", [201, 201, 201, 422, 422, 201]],
    ["neon", "scale", [201, 201, 201, 201, 201, 201]],
    ["neon", "business", [201, 201, 201, 201, 201, 201]],
  ] as const)("under %s the plan %s answers left out, 0, 300, 60, 600, -1 with %j", (name, plan, statuses) => {
    const shop = shopOn(name, plan);
    const made = asked.map((seconds) => {
      shop.finishOperations();
      return shop.ana("POST /projects/planned/endpoints", {
        endpoint: { branch_id: "br-planned", type: "read_only", suspend_timeout_seconds: seconds },
      });
    });
    expect(made.map(({ status }) => status)).toEqual(statuses);
    const id = shop.core.context.store.endpoints.list("planned").at(-1)?.id;
    const changed = asked.map((seconds) => {
      shop.finishOperations();
      const endpoint = { suspend_timeout_seconds: seconds };
      return shop.ana(`PATCH /projects/planned/endpoints/${id}`, { endpoint }).status;
    });
    expect(changed).toEqual(statuses.map((status) => (status === 201 ? 200 : status)));
  });

  it.each([
    [
      "specification",
      "free",
      -1,
      "scale to zero cannot be turned off on the free plan: leave suspend_timeout_seconds at 0",
    ],
    ["neon", "free", -1, "scale to zero cannot be turned off on the free plan: leave suspend_timeout_seconds at 0"],
    ["neon", "free", 60, "suspend_timeout_seconds on the free plan is fixed at 5 minutes: leave it out or at 0"],
    ["neon", "launch", 60, "suspend_timeout_seconds on the launch plan is 5 minutes or never: send 0, 300 or -1"],
  ] as const)(
    "under %s the plan %s refuses %s with what is allowed, in a create and in a change",
    (name, plan, ...row) => {
      const [suspend_timeout_seconds, message] = row;
      const shop = shopOn(name, plan);
      const endpoint = { branch_id: "br-planned", type: "read_only", suspend_timeout_seconds };
      expect(said(shop.ana("POST /projects/planned/endpoints", { endpoint }))).toEqual([422, message]);
      const id = shop.core.context.store.endpoints.list("planned")[0]?.id;
      const change = { endpoint: { suspend_timeout_seconds } };
      expect(said(shop.ana(`PATCH /projects/planned/endpoints/${id}`, change))).toEqual([422, message]);
    },
  );

  it("a change of a size leaves a stored interval alone", () => {
    const shop = shopOn("neon", "free");
    const [endpoint] = shop.core.context.store.endpoints.list("planned");
    if (!endpoint) throw new Error("the project has no compute");
    shop.core.change(({ store }) => store.endpoints.update({ ...endpoint, suspendTimeoutSeconds: 600 }));
    const answer = shop.ana(`PATCH /projects/planned/endpoints/${endpoint.id}`, { endpoint: sized(0.25, 2) });
    expect(answer.status).toBe(200);
  });

  it.each([
    ["specification", 20, true],
    ["neon", 16, true],
    ["neon", 18, false],
  ] as const)("under %s a compute of %s CU suspends without clients: %s", (name, cu, suspends) => {
    const shop = new Shop({ rules: rules[name] });
    const { id } = shop.active(sized(cu, cu));
    shop.time.pass(3_600_000);
    expect(shop.get(id).current_state).toBe(suspends ? "idle" : "active");
  });
});

describe("an end of a branch", () => {
  it.each(rulesNames)("under %s loses its fraction of a second, in a create and in a change", (name) => {
    const shop = new Shop({ rules: rules[name] });
    const made = shop.ana(`POST /projects/${project}/branches`, { branch: { expires_at: "2026-01-02T00:00:00.999Z" } });
    expect(made).toMatchObject({ status: 201, body: { branch: { expires_at: "2026-01-02T00:00:00Z" } } });
    shop.finishOperations();
    const path = `/projects/${project}/branches/${staging}`;
    const changed = shop.ana(`PATCH ${path}`, { branch: { expires_at: "2026-01-03T00:00:00.001Z" } });
    expect(changed).toMatchObject({ status: 200, body: { branch: { expires_at: "2026-01-03T00:00:00Z" } } });
  });
});

describe("limits of branches by plan", () => {
  it.each([
    ["neon", "free", 3],
    ["neon", "launch", 5],
    ["neon", "scale", 25],
  ] as const)("under %s the plan %s has %s root branches, schema-only ones among them", (name, plan, limit) => {
    const shop = shopOn(name, plan);
    const schemaOnly = () => {
      shop.finishOperations();
      return shop.ana("POST /projects/planned/branches", { branch: { init_source: "schema-only" } });
    };
    for (let made = 1; made < limit; made += 1) expect(schemaOnly().status).toBe(201);
    const next = schemaOnly();
    expect(said(next)).toEqual([422, expect.stringContaining(`at most ${limit} root branches`)]);
    shop.finishOperations();
    expect(shop.ana("POST /projects/planned/branches", { branch: {} }).status).toBe(201);
  });

  it("the specification sets none: 30 root branches and 7 protected ones are made", () => {
    const shop = shopOn("specification");
    const made = Array.from({ length: 30 }, (_, index) => {
      shop.finishOperations();
      const branch = { init_source: "schema-only", protected: index < 7 };
      return shop.ana("POST /projects/planned/branches", { branch }).status;
    });
    expect(new Set(made)).toEqual(new Set([201]));
  });

  it.each([
    ["neon", "free", 0],
    ["neon", "launch", 5],
    ["neon", "scale", 5],
  ] as const)("under %s the plan %s has %s protected branches", (name, plan, limit) => {
    const shop = shopOn(name, plan);
    const create = () => {
      shop.finishOperations();
      return shop.ana("POST /projects/planned/branches", { branch: { protected: true } });
    };
    for (let made = 0; made < limit; made += 1) expect(create().status).toBe(201);
    const refused = [422, expect.stringContaining(limit === 0 ? "no protected branches" : "at most 5")];
    expect(said(create())).toEqual(refused);
    const change = { branch: { protected: true } };
    expect(said(shop.ana("PATCH /projects/planned/branches/br-planned", change))).toEqual(refused);
    for (const { id, isProtected } of shop.core.context.store.branches.list("planned")) {
      const renamed = shop.ana(`PATCH /projects/planned/branches/${id}`, { branch: { name: `${id}-next` } });
      expect([renamed.status, renamed.body["branch"]]).toMatchObject([200, { protected: isProtected }]);
    }
  });
});

describe("the list of projects", () => {
  let shop: Shop;
  beforeEach(() => {
    shop = new Shop({ rules: rules.neon });
  });

  it("needs an organization of a personal key alone", () => {
    expect(said(shop.ana("GET /projects"))).toEqual([
      400,
      "org_id is required, you can find it on your organization settings page",
    ]);
    expect(shop.ana("GET /projects?org_id=org-shop").body["projects"]).toHaveLength(2);
    for (const key of [keys.shop, keys.scoped]) expect(shop.send(key, "GET /projects").status).toBe(200);
    expect(new Shop().ana("GET /projects").status).toBe(200);
  });
});

describe("connections by size", () => {
  it.each([
    [0.25, 104],
    [1, 419],
    [2, 839],
    [8, 3357],
    [9, 4000],
    [16, 4000],
  ])("under neon a compute of %s CU accepts %s", (cu, connections) => {
    const shop = new Shop({ rules: rules.neon });
    const { id } = shop.active(sized(cu, cu));
    expect(shop.connect(id).body).toMatchObject({ max_connections: connections });
  });
});
