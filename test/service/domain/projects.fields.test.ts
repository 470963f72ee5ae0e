import { beforeEach, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { keys, preview, primary, project, Shop } from "../support/shop.ts";

const Created = z.looseObject({
  project: z.looseObject({ id: z.string() }),
  branch: z.looseObject({ id: z.string(), name: z.string() }),
  endpoints: z.array(z.looseObject({ id: z.string() })),
  roles: z.array(z.looseObject({ name: z.string() })),
  databases: z.array(z.looseObject({ name: z.string() })),
  connection_uris: z.array(z.looseObject({ connection_uri: z.string() })),
});
const Usage = z.object({ active_time_seconds: z.number(), compute_time_seconds: z.number() });

let shop: Shop;
beforeEach(() => {
  shop = new Shop();
});

const created = (fields: object) => Created.parse(shop.ana("POST /projects", { project: fields }).body);

describe("creating a project", () => {
  it("names its branch, role and database", () => {
    const made = created({ branch: { name: "trunk", role_name: "app", database_name: "shop" } });
    expect(made.branch.name).toBe("trunk");
    expect(made.roles).toMatchObject([{ name: "app", password: expect.stringMatching(/^npg_/) }]);
    expect(made.databases).toMatchObject([{ name: "shop", owner_name: "app" }]);
    expect(made.connection_uris[0]?.connection_uri).toMatch(/^postgresql:\/\/app:npg_.*\/shop\?sslmode=require$/);
  });

  it.each([
    { role_name: "neon_superuser" },
    { role_name: "pg_mine" },
    { database_name: "postgres" },
    { database_name: "template0" },
  ])("takes no name for its role or its database that is kept: %j", (branch) => {
    const answer = shop.ana("POST /projects", { project: { branch } });
    expect([answer.status, answer.body["message"]]).toEqual([400, expect.stringContaining("keeps for itself")]);
  });

  it("takes a name that is kept for databases for its role, and one that is kept for roles for its database", () => {
    const made = created({ branch: { role_name: "template0", database_name: "neon_superuser" } });
    expect(made.databases).toMatchObject([{ name: "neon_superuser", owner_name: "template0" }]);
  });

  it.each([
    ["pg_settings", "a".repeat(128), 4096, 201],
    ["pg_settings", "a".repeat(129), 1, 400],
    ["pg_settings", "", 1, 400],
    ["pg_settings", "application_name", 4097, 400],
    ["pgbouncer_settings", "a".repeat(128), 4096, 201],
    ["pgbouncer_settings", "a".repeat(129), 1, 400],
    ["pgbouncer_settings", "query_wait_timeout", 4097, 400],
  ])(
    "the usual %s of its computes have names and values of bounded length: %s, %s characters: %s",
    (of, name, length, status) => {
      const default_endpoint_settings = { [of]: { [name]: "x".repeat(length) } };
      expect(shop.ana("POST /projects", { project: { org_id: "org-shop", default_endpoint_settings } }).status).toBe(
        status,
      );
    },
  );

  it("gives its computes their sizes, settings and inactivity period, from the first one on", () => {
    const usual = {
      autoscaling_limit_min_cu: 0.5,
      autoscaling_limit_max_cu: 2,
      suspend_timeout_seconds: 600,
      pg_settings: { work_mem: "64MB" },
    };
    const made = created({ default_endpoint_settings: usual });
    const shown = {
      autoscaling_limit_min_cu: 0.5,
      autoscaling_limit_max_cu: 2,
      suspend_timeout_seconds: 600,
      settings: { pg_settings: { work_mem: "64MB" } },
    };
    expect(made.project).toMatchObject({ default_endpoint_settings: usual });
    expect(made.endpoints).toMatchObject([shown]);
    shop.finishOperations();
    const endpoint = (fields: object) =>
      shop.ana(`POST /projects/${made.project.id}/endpoints`, {
        endpoint: { branch_id: made.branch.id, type: "read_only", ...fields },
      }).body["endpoint"];
    expect(endpoint({})).toMatchObject(shown);
    shop.finishOperations();
    expect(endpoint({ autoscaling_limit_max_cu: 4 })).toMatchObject({
      autoscaling_limit_min_cu: 1,
      autoscaling_limit_max_cu: 4,
      suspend_timeout_seconds: 600,
    });
  });

  it("names every field that is wrong, and makes nothing", () => {
    const refused = shop.ana("POST /projects", { project: { pg_version: 3, region_id: "moon", name: "half" } });
    expect([refused.status, refused.body["message"]]).toEqual([
      400,
      expect.stringMatching(/region_id: must be a region.*pg_version: |pg_version: .*region_id: must be a region/),
    ]);
    expect(shop.ana("GET /projects?search=half").body["projects"]).toEqual([]);
  });

  it.each([14, 19])("takes Postgres %i, and none before or after these", (version) => {
    expect(created({ pg_version: version }).project).toMatchObject({ pg_version: version });
    const beyond = version === 14 ? 13 : 20;
    expect(shop.ana("POST /projects", { project: { pg_version: beyond } }).status).toBe(400);
  });

  it("a version that is older than those that the servers can run is refused, and makes nothing", () => {
    Object.assign(shop.core.context.backend, { oldestMajor: 15 });
    expect(shop.ana("POST /projects", { project: { pg_version: 14 } })).toMatchObject({
      status: 400,
      body: { message: "pg_version: Postgres 15 is the oldest that runs here" },
    });
    expect(created({ pg_version: 15 }).project).toMatchObject({ pg_version: 15 });
  });

  it("takes sizes beside default_endpoint_settings for the same", () => {
    const made = created({ autoscaling_limit_min_cu: 2, autoscaling_limit_max_cu: 4 });
    expect(made.endpoints).toMatchObject([{ autoscaling_limit_min_cu: 2, autoscaling_limit_max_cu: 4 }]);
    expect(made.project).toMatchObject({ default_endpoint_settings: { autoscaling_limit_max_cu: 4 } });
  });

  it("takes sizes beside default_endpoint_settings before those in it", () => {
    const usual = { autoscaling_limit_min_cu: 1, autoscaling_limit_max_cu: 2 };
    const made = created({ default_endpoint_settings: usual, autoscaling_limit_max_cu: 4 });
    expect(made.endpoints).toMatchObject([{ autoscaling_limit_min_cu: 1, autoscaling_limit_max_cu: 4 }]);
  });

  it("keeps its history for a day, or for as long as it says", () => {
    expect(created({}).project).toMatchObject({ history_retention_seconds: 86_400, store_passwords: true });
    expect(created({ history_retention_seconds: 0 }).project).toMatchObject({ history_retention_seconds: 0 });
    expect(shop.ana("POST /projects", { project: { history_retention_seconds: 2_592_001 } }).status).toBe(400);
  });
});

describe("changing a project", () => {
  it("changes what its later computes begin with, and leaves those that there are", () => {
    const change = { default_endpoint_settings: { autoscaling_limit_max_cu: 8 } };
    const answer = shop.ana(`PATCH /projects/${project}`, { project: change });
    expect(answer.body).toMatchObject({ project: change, operations: [] });
    expect(shop.get(primary)).toMatchObject({ autoscaling_limit_max_cu: 1 });
    expect(shop.create({ branch_id: preview, type: "read_write" }).endpoint).toMatchObject({
      autoscaling_limit_min_cu: 1,
      autoscaling_limit_max_cu: 8,
    });
  });

  it("refuses what fits none of its later computes with what it has kept, and keeps that", () => {
    const change = (usual: object) =>
      shop.ana(`PATCH /projects/${project}`, { project: { default_endpoint_settings: usual } }).status;
    const sizes = { autoscaling_limit_min_cu: 4, autoscaling_limit_max_cu: 8 };
    expect([change(sizes), change({ autoscaling_limit_max_cu: 2 })]).toEqual([200, 400]);
    expect(shop.ana(`GET /projects/${project}`).body["project"]).toMatchObject({ default_endpoint_settings: sizes });
  });

  it("leaves the settings that a change does not name as they were", () => {
    const change = (settings: object) => shop.ana(`PATCH /projects/${project}`, { project: { settings } }).status;
    expect([change({ hipaa: true }), change({ audit_log_level: "full" })]).toEqual([200, 200]);
    expect(shop.ana(`GET /projects/${project}`).body["project"]).toMatchObject({
      settings: { hipaa: true, audit_log_level: "full" },
    });
  });

  it("leaves the rest of its settings as they were", () => {
    shop.ana(`PATCH /projects/${project}`, { project: { default_endpoint_settings: { suspend_timeout_seconds: 60 } } });
    shop.ana(`PATCH /projects/${project}`, { project: { default_endpoint_settings: { autoscaling_limit_max_cu: 2 } } });
    shop.ana(`PATCH /projects/${project}`, { project: { name: "renamed", history_retention_seconds: 3600 } });
    expect(shop.ana(`GET /projects/${project}`).body["project"]).toMatchObject({
      name: "renamed",
      history_retention_seconds: 3600,
      default_endpoint_settings: { suspend_timeout_seconds: 60, autoscaling_limit_max_cu: 2 },
    });
  });

  it("a change that changes nothing leaves the project's time of change", () => {
    const before = shop.ana(`GET /projects/${project}`).body["project"];
    shop.time.pass(1000);
    shop.ana(`PATCH /projects/${project}`, { project: { name: "shop" } });
    expect(shop.ana(`GET /projects/${project}`).body["project"]).toEqual(before);
  });
});

describe("usage", () => {
  it("obeys --time-scale: computes live that much faster", () => {
    const used = (timeScale: number) => {
      const fast = new Shop({ timeScale });
      fast.active({ suspend_timeout_seconds: -1 });
      const now = () => Usage.parse(fast.ana(`GET /projects/${project}`).body["project"]);
      const before = now();
      fast.time.pass(10_000);
      const after = now();
      return [
        after.active_time_seconds - before.active_time_seconds,
        after.compute_time_seconds - before.compute_time_seconds,
      ];
    };
    expect(used(1)).toEqual([10, 10]);
    expect(used(60)).toEqual([600, 600]);
  });

  it("counts the size in use, which grows with the connections and shrinks again", () => {
    shop.active({ autoscaling_limit_min_cu: 1, autoscaling_limit_max_cu: 4, suspend_timeout_seconds: -1 });
    const used = () => Usage.parse(shop.ana(`GET /projects/${project}`).body["project"]).compute_time_seconds;
    const in100Seconds = () => {
      const before = used();
      shop.time.pass(100_000);
      // A thousand connections that close at one time take several turns.
      shop.core.settle();
      return used() - before;
    };
    expect(in100Seconds()).toBe(100);
    for (let clients = 0; clients < 1000; clients += 1) shop.connect(primary, 100);
    expect(in100Seconds()).toBe(300);
    expect(in100Seconds()).toBe(100);
  });

  it.each(["America/New_York", "Asia/Tokyo"])(
    "a consumption period is the calendar month in UTC, also in %s",
    (zone) => {
      vi.stubEnv("TZ", zone);
      shop.time.pass(Date.UTC(2026, 1, 28, 23) - shop.time.now());
      expect(shop.ana(`GET /projects/${project}`).body["project"]).toMatchObject({
        consumption_period_start: "2026-02-01T00:00:00.000Z",
        consumption_period_end: "2026-03-01T00:00:00.000Z",
      });
      expect(shop.ana("GET /users/me").body["billing_account"]).toMatchObject({
        quota_reset_at_last: "2026-02-01T00:00:00.000Z",
      });
    },
  );

  it("tells when a compute was last active", () => {
    const { last_active } = shop.active();
    expect(shop.ana(`GET /projects/${project}`).body["project"]).toMatchObject({ compute_last_active_at: last_active });
  });
});

it("regions, the account's billing and one member can be read", () => {
  expect(shop.ana("GET /regions").body["regions"]).toContainEqual(
    expect.objectContaining({ region_id: "aws-us-east-2", default: true }),
  );
  expect(shop.ana("GET /users/me").body["billing_account"]).toMatchObject({
    state: "active",
    email: "ana@example.com",
  });
  const members = z
    .array(z.object({ member: z.looseObject({ id: z.string() }) }))
    .parse(shop.ana("GET /organizations/org-shop/members").body["members"]);
  const [first] = members;
  expect(shop.ana(`GET /organizations/org-shop/members/${first?.member.id}`).body).toEqual(first?.member);
  expect(shop.send(keys.eve, `GET /organizations/org-shop/members/${first?.member.id}`).status).toBe(404);
});
