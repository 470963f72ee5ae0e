import { describe, expect, it, test } from "vitest";
import { inShort, keys, main, preview, primary, project, Shop } from "../support/shop.ts";

const minute = 60_000;

describe("creating a compute", () => {
  it("answers 201 with state init, pending active, and a running start_compute", () => {
    const shop = new Shop();
    const answer = shop.ana(`POST /projects/${project}/endpoints`, {
      endpoint: { branch_id: preview, type: "read_write" },
    });
    expect(answer.status).toBe(201);
    const { endpoint, operations } = new Shop().create({ branch_id: preview, type: "read_write" });
    expect(endpoint).toMatchObject({ current_state: "init", pending_state: "active", type: "read_write" });
    expect(endpoint.id).toMatch(/^ep-[a-z0-9-]+$/);
    expect(endpoint.last_active).toBeUndefined();
    expect(inShort(operations)).toEqual(["start_compute running"]);
    expect(operations[0]).toMatchObject({
      failures_count: 0,
      endpoint_id: endpoint.id,
      project_id: project,
      branch_id: preview,
    });
  });

  it("gives what is left out the defaults of the specification", () => {
    const { endpoint } = new Shop().create({ branch_id: preview, type: "read_write" });
    expect(endpoint).toMatchObject({
      autoscaling_limit_min_cu: 1,
      autoscaling_limit_max_cu: 1,
      pooler_enabled: false,
      pooler_mode: "transaction",
      disabled: false,
      passwordless_access: true,
      settings: { pg_settings: {} },
      region_id: "aws-us-east-2",
      host: `${endpoint.id}.us-east-2.aws.neon.tech`,
      proxy_host: "us-east-2.aws.neon.tech",
    });
  });

  it("takes some half a second; then the compute is active and has been active", () => {
    const shop = new Shop();
    const { endpoint } = shop.create({ branch_id: preview, type: "read_write" });
    shop.time.pass(300);
    expect(shop.get(endpoint.id).current_state).toBe("init");
    shop.time.pass(400);
    const now = shop.get(endpoint.id);
    expect(now.current_state).toBe("active");
    expect(now.pending_state).toBeUndefined();
    expect(now.last_active).toBe(now.started_at);
    expect(inShort(shop.operations())).toEqual(["start_compute finished"]);
  });

  it("refuses a second primary on a branch, and takes any number of replicas", () => {
    const shop = new Shop();
    const second = shop.ana(`POST /projects/${project}/endpoints`, {
      endpoint: { branch_id: main, type: "read_write" },
    });
    expect(second.status).toBe(409);
    expect(second.body).toMatchObject({
      code: "ENDPOINTS_LIMIT_EXCEEDED",
      message: "read_write endpoint already exists",
    });
    for (let replica = 0; replica < 5; replica++) {
      shop.create({ branch_id: main, type: "read_only" });
      shop.finishOperations();
    }
    expect(shop.list()).toHaveLength(6);
  });

  it("takes a size at one end and fits the other to it", () => {
    const shop = new Shop();
    const large = shop.create({ branch_id: main, type: "read_only", autoscaling_limit_max_cu: 4 }).endpoint;
    shop.finishOperations();
    const small = shop.create({ branch_id: main, type: "read_only", autoscaling_limit_max_cu: 0.5 }).endpoint;
    expect([large.autoscaling_limit_min_cu, large.autoscaling_limit_max_cu]).toEqual([1, 4]);
    expect([small.autoscaling_limit_min_cu, small.autoscaling_limit_max_cu]).toEqual([0.5, 0.5]);
  });

  it("leaves a compute that is disabled from the start idle", () => {
    const { endpoint, operations } = new Shop().create({ branch_id: preview, type: "read_write", disabled: true });
    expect(endpoint.current_state).toBe("idle");
    expect(operations).toEqual([]);
  });
});

it("inactivity suspends a compute after five minutes", () => {
  const shop = new Shop();
  shop.active();
  shop.time.pass(5 * minute - 4000);
  expect(shop.get(primary).current_state).toBe("active");
  shop.time.pass(4000);
  const now = shop.get(primary);
  expect(now.current_state).toBe("idle");
  expect(now.suspended_at).toBeDefined();
  expect(inShort(shop.operations())[0]).toBe("suspend_compute finished");
});

test.each([
  { seconds: 60, idleAfter: 60 },
  { seconds: 3600, idleAfter: 3600 },
])("an inactivity of $seconds seconds suspends a compute where that is set", ({ seconds, idleAfter }) => {
  const shop = new Shop();
  shop.active({ suspend_timeout_seconds: seconds });
  shop.time.pass((idleAfter - 10) * 1000);
  expect(shop.get(primary).current_state).toBe("active");
  shop.time.pass(11_000);
  expect(shop.get(primary).current_state).toBe("idle");
});

it("inactivity suspends a compute that has long been at rest when scale to zero is turned on, and not before that", () => {
  const shop = new Shop();
  shop.active({ suspend_timeout_seconds: -1 });
  shop.time.pass(3 * 24 * 60 * minute);
  const { endpoint } = shop.patch(primary, { suspend_timeout_seconds: 300 });
  shop.finishOperations();
  const [suspended] = shop.operations();
  expect(suspended).toMatchObject({ action: "suspend_compute", status: "finished" });
  expect(suspended?.created_at).toBeDefined();
  expect(Date.parse(suspended?.created_at ?? "")).toBeGreaterThanOrEqual(Date.parse(endpoint.updated_at ?? ""));
  expect(Date.parse(shop.get(primary).suspended_at ?? "")).toBeGreaterThan(Date.parse(endpoint.updated_at ?? ""));
});

it("inactivity never suspends a compute whose scale to zero is off", () => {
  const shop = new Shop();
  shop.active({ suspend_timeout_seconds: -1 });
  shop.time.pass(365 * 24 * 60 * minute);
  expect(shop.get(primary).current_state).toBe("active");
});

it("inactivity is stopped by each connection, and starts again when the last one closes", () => {
  const shop = new Shop();
  shop.active();
  shop.time.pass(4 * minute);
  shop.connect(primary, 120);
  shop.connect(primary, 60);
  shop.time.pass(6.5 * minute);
  expect(shop.get(primary).current_state).toBe("active");
  shop.time.pass(minute);
  expect(shop.get(primary).current_state).toBe("idle");
});

it("inactivity is noticed late, but with the time at which it happened", () => {
  const shop = new Shop();
  const active = shop.active();
  shop.time.pass(24 * 60 * minute);
  const idle = shop.get(primary);
  const suspended = Date.parse(String(idle.suspended_at)) - Date.parse(String(active.last_active));
  expect(suspended).toBeGreaterThanOrEqual(5 * minute);
  expect(suspended).toBeLessThan(5 * minute + 1000);
});

it("an idle compute wakes for a client within a few hundred milliseconds", () => {
  const shop = new Shop();
  expect(shop.connect(primary, 1).status).toBe(200);
  expect(shop.get(primary)).toMatchObject({ current_state: "idle", pending_state: "active" });
  shop.time.pass(450);
  expect(shop.get(primary).current_state).toBe("active");
  expect(inShort(shop.operations())).toEqual(["start_compute finished"]);
});

it("an idle compute wakes for a client who comes while it suspends", () => {
  const shop = new Shop();
  shop.active();
  shop.write(`POST /projects/${project}/endpoints/${primary}/suspend`);
  expect(shop.connect(primary, 1).status).toBe(200);
  shop.finishOperations();
  expect(shop.get(primary).current_state).toBe("active");
});

it("an idle compute is started on request, and started when it is restarted", () => {
  const shop = new Shop();
  const { operations } = shop.write(`POST /projects/${project}/endpoints/${primary}/restart`);
  expect(inShort(operations)).toEqual(["start_compute running"]);
  shop.finishOperations();
  expect(shop.get(primary).current_state).toBe("active");
  expect(shop.write(`POST /projects/${project}/endpoints/${primary}/start`).operations).toEqual([]);
});

describe("restarting", () => {
  it("suspends, then starts, and cuts the connections", () => {
    const shop = new Shop();
    const before = shop.active();
    shop.connect(primary, 3600);
    const { operations } = shop.write(`POST /projects/${project}/endpoints/${primary}/restart`);
    expect(inShort(operations)).toEqual(["suspend_compute running", "start_compute scheduling"]);
    expect(shop.finishOperations().get(primary).current_state).toBe("active");
    expect(shop.get(primary).started_at).not.toBe(before.started_at);
    shop.time.pass(6 * minute);
    expect(shop.get(primary).current_state).toBe("idle");
  });
});

describe("time scale", () => {
  it("makes operations and inactivity run faster", () => {
    const shop = new Shop({ timeScale: 60 });
    const { endpoint } = shop.create({ branch_id: preview, type: "read_write" });
    shop.time.pass(20);
    expect(shop.get(endpoint.id).current_state).toBe("active");
    shop.time.pass(5100);
    expect(shop.get(endpoint.id).current_state).toBe("idle");
  });
});

describe("a branch whose creation fails", () => {
  it("leaves its compute idle and says why, and both are ready after the next start", () => {
    const shop = new Shop();
    shop.core.setFaults([{ method: "POST", route: "*", kind: "fail-operations", count: 1 }]);
    const path = `/api/v2/projects/${project}/branches`;
    const body = JSON.stringify({ branch: {}, endpoints: [{ type: "read_write" }] });
    shop.core.exchange({ method: "POST", path, headers: { authorization: `Bearer ${keys.ana}` }, body });
    expect(inShort(shop.finishOperations().operations())).toEqual(["start_compute cancelled", "create_branch failed"]);
    const made = shop.list().find(({ id }) => id !== primary);
    const { branch_id, id = "" } = made ?? {};
    expect(made).toMatchObject({ current_state: "idle" });
    expect(made?.pending_state).toBeUndefined();
    const { store } = shop.core.context;
    const [last] = store.operations.ofEndpoint(project, id, 1);
    expect(last && store.operations.reasonOf(last)).toBe("the operation was made to fail");
    const branch = () => shop.ana(`GET /projects/${project}/branches/${branch_id}`).body["branch"];
    expect(branch()).toMatchObject({ current_state: "init" });
    shop.write(`POST /projects/${project}/endpoints/${id}/start`);
    expect(shop.finishOperations().get(id).current_state).toBe("active");
    expect(branch()).toMatchObject({ current_state: "ready" });
  });
});

test("a compute that suspends is in a transition, and cannot be suspended once more, nor is it taken for started", () => {
  const shop = new Shop();
  shop.active();
  const path = `POST /projects/${project}/endpoints/${primary}`;
  shop.write(`${path}/suspend`);
  const message = "endpoint is in some transitive state, could not suspend";
  expect(shop.ana(`${path}/suspend`)).toMatchObject({ status: 423, body: { message } });
  expect(shop.ana(`${path}/start`).status).toBe(423);
});

test("an operation is begun after the one before it has ended, also where time passes while the call is answered", () => {
  const shop = new Shop();
  shop.write(`POST /projects/${project}/endpoints/${primary}/start`);
  shop.time.pass((shop.core.nextDue() ?? 0) - shop.time.now() - 1);
  shop.time.readsTake(1);
  const path = `POST /projects/${project}/endpoints/${primary}/suspend`;
  const tries = [shop.ana(path).status, shop.ana(path).status];
  shop.time.readsTake(0);
  expect(tries).toEqual([423, 200]);
  const [suspension, start] = shop.operations();
  expect(Date.parse(suspension?.created_at ?? "")).toBeGreaterThanOrEqual(Date.parse(start?.updated_at ?? ""));
});
