import { describe, expect, it, test } from "vitest";
import { inShort, main, preview, primary, project, Shop, staging } from "../support/shop.ts";

const minute = 60_000;

it("a compute that moves is idle there, with apply_config running and suspend_compute scheduling", () => {
  const shop = new Shop();
  shop.active();
  shop.connect(primary, 3600);
  const { endpoint, operations } = shop.patch(primary, { branch_id: preview });
  expect(endpoint).toMatchObject({ branch_id: preview, current_state: "idle", pending_state: "idle" });
  expect(inShort(operations)).toEqual(["apply_config running", "suspend_compute scheduling"]);
  const now = shop.finishOperations().get(primary);
  expect(now).toMatchObject({ branch_id: preview, current_state: "idle" });
  expect(now.pending_state).toBeUndefined();
});

it("a primary does not move where the branch has one, and a replica never moves", () => {
  const shop = new Shop();
  shop.create({ branch_id: preview, type: "read_write" });
  shop.finishOperations();
  const refused = shop.ana(`PATCH /projects/${project}/endpoints/${primary}`, { endpoint: { branch_id: preview } });
  expect(refused.status).toBe(409);
  expect(shop.get(primary).branch_id).toBe(main);
  const replica = shop.create({ branch_id: staging, type: "read_only" }).endpoint;
  shop.finishOperations();
  expect(shop.patch(replica.id, { branch_id: preview }).endpoint.branch_id).toBe(preview);
});

test.each([
  { fields: { autoscaling_limit_min_cu: 2, autoscaling_limit_max_cu: 2 }, what: "fixed size" },
  { fields: { autoscaling_limit_min_cu: 0.25 }, what: "autoscaling minimum" },
  { fields: { autoscaling_limit_max_cu: 4 }, what: "autoscaling maximum" },
])("a change of a compute's $what restarts it and cuts its connections", ({ fields }) => {
  const shop = new Shop();
  const before = shop.active();
  shop.connect(primary, 3600);
  const { endpoint, operations } = shop.patch(primary, fields);
  expect(endpoint).toMatchObject(fields);
  expect(inShort(operations)).toEqual(["apply_config running"]);
  const after = shop.finishOperations().get(primary);
  expect(after.current_state).toBe("active");
  expect(after.started_at).not.toBe(before.started_at);
  shop.time.pass(6 * minute);
  expect(shop.get(primary).current_state).toBe("idle");
});

it("a change of a compute's settings is applied while it runs", () => {
  const shop = new Shop();
  const before = shop.active();
  const { operations } = shop.patch(primary, { settings: { pg_settings: { work_mem: "64MB" } } });
  expect(inShort(operations)).toEqual(["apply_config running"]);
  expect(shop.finishOperations().get(primary).started_at).toBe(before.started_at);
});

it("a change of an idle compute brings it up only for that moment", () => {
  const shop = new Shop();
  const { operations } = shop.patch(primary, { autoscaling_limit_max_cu: 4 });
  expect(inShort(operations)).toEqual(["apply_config running", "suspend_compute scheduling"]);
  expect(shop.finishOperations().get(primary)).toMatchObject({ current_state: "idle", autoscaling_limit_max_cu: 4 });
});

it("a change to what the compute is already sets nothing off and changes nothing", () => {
  const shop = new Shop();
  const before = shop.get(primary);
  shop.time.pass(1000);
  const { endpoint, operations } = shop.patch(primary, { autoscaling_limit_max_cu: 1, disabled: false });
  expect(operations).toEqual([]);
  expect(endpoint).toEqual(before);
});

it("a change to disabled suspends the compute, and then neither client nor call starts it", () => {
  const shop = new Shop();
  shop.active();
  expect(inShort(shop.patch(primary, { disabled: true }).operations)).toEqual(["suspend_compute running"]);
  expect(shop.finishOperations().get(primary)).toMatchObject({ current_state: "idle", disabled: true });
  expect(shop.connect(primary).status).toBe(409);
  expect(shop.ana(`POST /projects/${project}/endpoints/${primary}/start`).status).toBe(409);
});

it.each([true, false])(
  "a compute that wakes is not disabled before it has, with a project's lock %s",
  (projectLock) => {
    const shop = new Shop({ projectLock });
    const disable = () => shop.ana(`PATCH /projects/${project}/endpoints/${primary}`, { endpoint: { disabled: true } });
    shop.connect(primary, 3600);
    expect([shop.get(primary).current_state, disable().status]).toEqual(["idle", 423]);
    expect(shop.finishOperations().get(primary)).toMatchObject({ current_state: "active", disabled: false });
    expect(disable().status).toBe(200);
    expect(shop.finishOperations().get(primary)).toMatchObject({ current_state: "idle", disabled: true });
  },
);

describe("deleting a compute", () => {
  it("answers it with an empty list of operations, and 204 the second time", () => {
    const shop = new Shop();
    shop.active();
    const { endpoint, operations } = shop.write(`DELETE /projects/${project}/endpoints/${primary}`);
    expect(endpoint.id).toBe(primary);
    expect(operations).toEqual([]);
    expect(shop.list()).toEqual([]);
    expect(shop.ana(`DELETE /projects/${project}/endpoints/${primary}`).status).toBe(204);
    expect(shop.ana(`GET /projects/${project}/endpoints/${primary}`).status).toBe(404);
  });

  it("leaves room for another one, with another id and host", () => {
    const shop = new Shop();
    const before = shop.get(primary);
    shop.write(`DELETE /projects/${project}/endpoints/${primary}`);
    const { endpoint } = shop.create({ branch_id: main, type: "read_write" });
    expect(endpoint.id).not.toBe(before.id);
    expect(endpoint.host).not.toBe(before.host);
  });
});

it("the project's lock refuses what would start operations while others run, and nothing else", () => {
  const shop = new Shop();
  const { endpoint } = shop.create({ branch_id: preview, type: "read_write" });
  const locked = [
    shop.ana(`POST /projects/${project}/endpoints`, { endpoint: { branch_id: main, type: "read_only" } }),
    shop.ana(`PATCH /projects/${project}/endpoints/${primary}`, { endpoint: { autoscaling_limit_max_cu: 2 } }),
    shop.ana(`POST /projects/${project}/endpoints/${primary}/start`),
    shop.ana(`POST /projects/${project}/endpoints/${primary}/restart`),
    shop.ana(`DELETE /projects/${project}/endpoints/${endpoint.id}`),
  ];
  expect(locked.map(({ status }) => status)).toEqual([423, 423, 423, 423, 423]);
  expect(locked[0]?.body["message"]).toBe(
    "project already has running conflicting operations, scheduling of new ones is prohibited",
  );
  expect(shop.patch(primary, { name: "shop" }).endpoint.name).toBe("shop");
  expect(shop.write(`DELETE /projects/${project}/endpoints/${primary}`).operations).toEqual([]);
  shop.finishOperations();
  expect(shop.write(`DELETE /projects/${project}/endpoints/${endpoint.id}`).operations).toEqual([]);
});

it("each compute has a lock of its own with --no-project-lock", () => {
  const shop = new Shop({ projectLock: false });
  const { endpoint } = shop.create({ branch_id: preview, type: "read_write" });
  shop.create({ branch_id: main, type: "read_only" });
  shop.patch(primary, { autoscaling_limit_max_cu: 2 });
  const own = [
    shop.ana(`PATCH /projects/${project}/endpoints/${endpoint.id}`, { endpoint: { autoscaling_limit_max_cu: 4 } }),
    shop.ana(`POST /projects/${project}/endpoints/${primary}/restart`),
  ];
  expect(own.map(({ status }) => status)).toEqual([423, 423]);
});

it("the project's lock lets only one of two branches be made at once, or both with --no-project-lock", () => {
  for (const [projectLock, statuses] of [
    [true, [201, 423]],
    [false, [201, 201]],
  ] as const) {
    const shop = new Shop({ projectLock });
    const made = ["pr-1", "pr-2"].map((name) =>
      shop.ana(`POST /projects/${project}/branches`, { branch: { name }, endpoints: [{ type: "read_write" }] }),
    );
    expect([projectLock, made.map(({ status }) => status)]).toEqual([projectLock, statuses]);
  }
});

it("each project has a lock of its own", () => {
  const shop = new Shop();
  shop.create({ branch_id: preview, type: "read_write" });
  const elsewhere = shop.ana("POST /projects/shop-two/endpoints", {
    endpoint: { branch_id: "br-two", type: "read_only" },
  });
  expect(elsewhere.status).toBe(201);
});

it("a change sets an attribute to no and to nought, as to any other value", () => {
  const shop = new Shop();
  shop.patch(primary, { disabled: true, suspend_timeout_seconds: 3600 });
  shop.finishOperations();
  const change = { disabled: false, suspend_timeout_seconds: 0 };
  expect(shop.patch(primary, change).endpoint).toMatchObject(change);
});
