import { describe, expect, it, test } from "vitest";
import { inShort, main, preview, primary, project, Shop, staging } from "../support/shop.ts";

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

describe("inactivity", () => {
  it("suspends a compute after five minutes", () => {
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
  ])("of $seconds seconds where that is set", ({ seconds, idleAfter }) => {
    const shop = new Shop();
    shop.active({ suspend_timeout_seconds: seconds });
    shop.time.pass((idleAfter - 10) * 1000);
    expect(shop.get(primary).current_state).toBe("active");
    shop.time.pass(11_000);
    expect(shop.get(primary).current_state).toBe("idle");
  });

  it("never suspends a compute whose scale to zero is off", () => {
    const shop = new Shop();
    shop.active({ suspend_timeout_seconds: -1 });
    shop.time.pass(365 * 24 * 60 * minute);
    expect(shop.get(primary).current_state).toBe("active");
  });

  it("is ended by each connection, and begins anew when the last one closes", () => {
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

  it("is noticed late, but with the time at which it happened", () => {
    const shop = new Shop();
    const active = shop.active();
    shop.time.pass(24 * 60 * minute);
    const idle = shop.get(primary);
    const suspended = Date.parse(String(idle.suspended_at)) - Date.parse(String(active.last_active));
    expect(suspended).toBeGreaterThanOrEqual(5 * minute);
    expect(suspended).toBeLessThan(5 * minute + 1000);
  });
});

describe("an idle compute", () => {
  it("wakes for a client within a few hundred milliseconds", () => {
    const shop = new Shop();
    expect(shop.connect(primary, 1).status).toBe(200);
    expect(shop.get(primary)).toMatchObject({ current_state: "idle", pending_state: "active" });
    shop.time.pass(450);
    expect(shop.get(primary).current_state).toBe("active");
    expect(inShort(shop.operations())).toEqual(["start_compute finished"]);
  });

  it("wakes for a client who comes while it suspends", () => {
    const shop = new Shop();
    shop.active();
    shop.write(`POST /projects/${project}/endpoints/${primary}/suspend`);
    expect(shop.connect(primary, 1).status).toBe(200);
    shop.finishOperations();
    expect(shop.get(primary).current_state).toBe("active");
  });

  it("is started on request, and started when it is restarted", () => {
    const shop = new Shop();
    const { operations } = shop.write(`POST /projects/${project}/endpoints/${primary}/restart`);
    expect(inShort(operations)).toEqual(["start_compute running"]);
    shop.finishOperations();
    expect(shop.get(primary).current_state).toBe("active");
    expect(shop.write(`POST /projects/${project}/endpoints/${primary}/start`).operations).toEqual([]);
  });
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

describe("moving a compute to another branch", () => {
  it("leaves it idle there, with apply_config running and suspend_compute scheduling", () => {
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

  it("is refused where the branch has a primary, and for replicas never", () => {
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
});

describe("changing a compute", () => {
  test.each([
    { fields: { autoscaling_limit_min_cu: 2, autoscaling_limit_max_cu: 2 }, what: "fixed size" },
    { fields: { autoscaling_limit_min_cu: 0.25 }, what: "autoscaling minimum" },
    { fields: { autoscaling_limit_max_cu: 4 }, what: "autoscaling maximum" },
  ])("of its $what restarts it and cuts its connections", ({ fields }) => {
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

  it("of its settings is applied while it runs", () => {
    const shop = new Shop();
    const before = shop.active();
    const { operations } = shop.patch(primary, { settings: { pg_settings: { work_mem: "64MB" } } });
    expect(inShort(operations)).toEqual(["apply_config running"]);
    expect(shop.finishOperations().get(primary).started_at).toBe(before.started_at);
  });

  it("that is idle brings it up only for that moment", () => {
    const shop = new Shop();
    const { operations } = shop.patch(primary, { autoscaling_limit_max_cu: 4 });
    expect(inShort(operations)).toEqual(["apply_config running", "suspend_compute scheduling"]);
    expect(shop.finishOperations().get(primary)).toMatchObject({ current_state: "idle", autoscaling_limit_max_cu: 4 });
  });

  it("to what it is already sets nothing off and changes nothing", () => {
    const shop = new Shop();
    const before = shop.get(primary);
    shop.time.pass(1000);
    const { endpoint, operations } = shop.patch(primary, { autoscaling_limit_max_cu: 1, disabled: false });
    expect(operations).toEqual([]);
    expect(endpoint).toEqual(before);
  });

  it("to disabled suspends it, and then neither client nor call starts it", () => {
    const shop = new Shop();
    shop.active();
    expect(inShort(shop.patch(primary, { disabled: true }).operations)).toEqual(["suspend_compute running"]);
    expect(shop.finishOperations().get(primary)).toMatchObject({ current_state: "idle", disabled: true });
    expect(shop.connect(primary).status).toBe(409);
    expect(shop.ana(`POST /projects/${project}/endpoints/${primary}/start`).status).toBe(409);
  });
});

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

describe("the project's lock", () => {
  it("refuses what would start operations while others run, and nothing else", () => {
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

  it("is each project's own", () => {
    const shop = new Shop();
    shop.create({ branch_id: preview, type: "read_write" });
    const elsewhere = shop.ana("POST /projects/shop-two/endpoints", {
      endpoint: { branch_id: "br-two", type: "read_only" },
    });
    expect(elsewhere.status).toBe(201);
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
