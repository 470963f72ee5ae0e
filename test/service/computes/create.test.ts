import { expect, it } from "vitest";
import { BadSeed } from "../../../src/service/seed/seed.ts";
import { main, preview, primary, project, Shop } from "../support/shop.ts";

it("a compute beyond 5,000 of a project is refused by every way to make one, until one is deleted", () => {
  const shop = new Shop();
  shop.core.change(({ store }) => {
    const like = store.endpoints.byId(primary);
    if (!like) throw new Error("the primary is gone");
    for (let made = 1; made < 5000; made += 1) {
      store.endpoints.insert({ ...like, id: `ep-more-${made}`, branchId: preview, type: "read_only" });
    }
  });
  const create = () =>
    shop.ana(`POST /projects/${project}/endpoints`, {
      endpoint: { branch_id: main, type: "read_only", disabled: true },
    });
  const message = "computes limit exceeded: a project has at most 5000 computes, so delete one first";
  expect([create().status, create().body["message"]]).toEqual([422, message]);
  const branch = { branch: { parent_id: preview }, endpoints: [{ type: "read_write" }] };
  const before = shop.core.context.store.branches.count(project);
  expect(shop.ana(`POST /projects/${project}/branches`, branch).status).toBe(422);
  expect(shop.core.context.store.branches.count(project)).toBe(before);
  expect(
    shop.ana("POST /projects/shop-two/endpoints", { endpoint: { branch_id: "br-two", type: "read_only" } }).status,
  ).toBe(201);
  shop.ana(`DELETE /projects/${project}/endpoints/ep-more-1`);
  shop.finishOperations();
  expect([create().status, create().status]).toEqual([201, 422]);
});

const at = (iso: unknown) => Date.parse(String(iso));

it("a compute that is disabled from the start is kept, idle, and has never run", () => {
  const shop = new Shop();
  const { endpoint } = shop.create({ branch_id: preview, type: "read_write", disabled: true });
  expect(shop.get(endpoint.id)).toEqual(endpoint);
  expect(endpoint).toMatchObject({ current_state: "idle", disabled: true });
  for (const never of ["pending_state", "last_active", "started_at", "suspended_at"]) {
    expect(endpoint).not.toHaveProperty(never);
  }
  expect([at(endpoint.created_at), at(endpoint.updated_at)]).toEqual([shop.time.now(), shop.time.now()]);
});

it("a compute that is made with its branch has the settings of its pooler too", () => {
  const shop = new Shop();
  const settings = { pg_settings: {}, pgbouncer_settings: { query_wait_timeout: "30" } };
  shop.ana(`POST /projects/${project}/branches`, { endpoints: [{ type: "read_write", settings }] });
  expect(shop.list().at(-1)).toMatchObject({ settings });
});

const usual = {
  pg_settings: { work_mem: "8MB" },
  pgbouncer_settings: { query_wait_timeout: "30" },
  autoscaling_limit_min_cu: 2,
  autoscaling_limit_max_cu: 4,
  suspend_timeout_seconds: 3600,
};

it.each([
  ["what it leaves out", {}, {}],
  ["but for its settings", { settings: { pg_settings: {} } }, { settings: { pg_settings: {} } }],
  ["but for its timeout", { suspend_timeout_seconds: 600 }, { suspend_timeout_seconds: 600 }],
  [
    "but for its minimum, whose maximum is then the service's",
    { autoscaling_limit_min_cu: 0.5 },
    { autoscaling_limit_min_cu: 0.5, autoscaling_limit_max_cu: 1 },
  ],
  [
    "but for its minimum, to which the service fits the maximum",
    { autoscaling_limit_min_cu: 3 },
    { autoscaling_limit_min_cu: 3, autoscaling_limit_max_cu: 3 },
  ],
  [
    "but for its maximum, whose minimum is then the service's",
    { autoscaling_limit_max_cu: 8 },
    { autoscaling_limit_min_cu: 1, autoscaling_limit_max_cu: 8 },
  ],
  [
    "but for both its sizes",
    { autoscaling_limit_min_cu: 6, autoscaling_limit_max_cu: 7 },
    { autoscaling_limit_min_cu: 6, autoscaling_limit_max_cu: 7 },
  ],
])("a compute has the project's defaults %s", (_, wanted, differs) => {
  const shop = new Shop();
  const { pg_settings, pgbouncer_settings, ...others } = usual;
  expect(shop.ana(`PATCH /projects/${project}`, { project: { default_endpoint_settings: usual } }).status).toBe(200);
  const { endpoint } = shop.create({ branch_id: preview, type: "read_write", ...wanted });
  expect(shop.get(endpoint.id)).toMatchObject({ ...others, settings: { pg_settings, pgbouncer_settings }, ...differs });
});

it("a compute of a project without defaults has no settings of a pooler, and the default timeout", () => {
  const { endpoint } = new Shop().create({ branch_id: preview, type: "read_write" });
  expect(endpoint).toMatchObject({ suspend_timeout_seconds: 0 });
  expect(endpoint.settings).toEqual({ pg_settings: {} });
});

it("a compute has the name that it is given, and none by the letter of the specification", () => {
  const wanted = { branch_id: preview, type: "read_write", name: "reports" };
  const shop = new Shop();
  expect(shop.get(shop.create(wanted).endpoint.id).name).toBe("reports");
  const strict = new Shop({ strictSpec: true });
  const made = strict.ana(`POST /projects/${project}/endpoints`, { endpoint: wanted });
  expect([made.status, made.body["endpoint"]]).toEqual([201, expect.not.objectContaining({ name: "reports" })]);
  expect(strict.core.context.store.endpoints.list(project).map(({ name }) => name)).toEqual([undefined, undefined]);
});

it("a compute beyond 1,000 of a branch is made neither on it nor moved to it, and is on another one", () => {
  const shop = new Shop();
  const { endpoints } = shop.core.context.store;
  const path = `/projects/${project}/endpoints`;
  const create = (branch_id: string) => {
    const made = shop.ana(`POST ${path}`, { endpoint: { branch_id, type: "read_only", disabled: true } });
    return [made.status, made.body["message"]];
  };
  shop.core.change(() => {
    const like = endpoints.byId(primary);
    if (!like) throw new Error("the primary is gone");
    for (let made = 1; made < 1000; made += 1) {
      endpoints.insert({ ...like, id: `ep-more-${made}`, branchId: preview, type: "read_only" });
    }
  });
  const message = "computes limit exceeded: a branch has at most 1000 computes, so delete one first";
  expect([create(preview)[0], create(preview), create(main)[0]]).toEqual([201, [422, message], 201]);
  const moved = shop.ana(`PATCH ${path}/${primary}`, { endpoint: { branch_id: preview } });
  expect([moved.status, moved.body["message"]]).toEqual([422, message]);
  shop.ana(`DELETE ${path}/ep-more-1`);
  expect(shop.ana(`PATCH ${path}/${primary}`, { endpoint: { branch_id: preview } }).status).toBe(200);
});

it("a seed with more than 5,000 computes in a project is refused with the limit", () => {
  const endpoints = Array.from({ length: 5001 }, () => ({ branchID: "br-wide", type: "read_only" as const }));
  const seed = { projects: [{ id: "wide", owner: "acc-ana", branches: [{ id: "br-wide" }], endpoints }] };
  const plant = () => new Shop().applySeed(seed);
  expect(plant).toThrow(BadSeed);
  expect(plant).toThrow("project wide: computes limit exceeded");
});
