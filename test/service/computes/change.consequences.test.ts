import { expect, it, vi } from "vitest";
import type { Endpoint } from "../../../src/api/endpoint.ts";
import { inShort, keys, main, preview, primary, project, Shop } from "../support/shop.ts";

const path = `/projects/${project}/endpoints/${primary}`;
const minute = 60_000;

const at = (iso: unknown) => Date.parse(String(iso));

/** The number of clients of the primary compute. */
function clients({ core }: Shop): number {
  return core.context.store.connections.count(primary, false);
}

it.each<[what: string, fields: object, pending: string | undefined, cuts: boolean]>([
  ["its pooler", { pooler_enabled: true }, "active", false],
  ["its settings", { settings: { pg_settings: { work_mem: "64MB" } } }, "active", false],
  ["its timeout", { suspend_timeout_seconds: 600 }, "active", false],
  ["its size", { autoscaling_limit_max_cu: 4 }, "active", true],
  ["its branch", { branch_id: preview }, "idle", true],
  ["whether it is disabled", { disabled: true }, "idle", true],
  ["its name", { name: "reports" }, undefined, false],
])("a change of %s leads a compute that runs to its state, and cuts clients only where they cannot stay", (...row) => {
  const [, fields, pending, cuts] = row;
  const shop = new Shop();
  shop.active();
  shop.connect(primary, 3600);
  const connectedAt = shop.time.now();
  shop.time.pass(minute);
  const { endpoint } = shop.patch(primary, fields);
  expect([endpoint.pending_state, clients(shop)]).toEqual([pending, cuts ? 0 : 1]);
  expect([at(endpoint.last_active), at(endpoint.updated_at)]).toEqual([
    cuts ? shop.time.now() : connectedAt,
    shop.time.now(),
  ]);
  expect(shop.get(primary)).toEqual(endpoint);
  expect(shop.finishOperations().get(primary)).toMatchObject({
    ...fields,
    current_state: pending === "idle" ? "idle" : "active",
  });
});

it.each<[what: string, fields: object, actions: string[]]>([
  ["its pooler", { pooler_enabled: true }, []],
  ["its timeout", { suspend_timeout_seconds: 600 }, []],
  ["whether it is disabled", { disabled: true }, []],
  ["its name", { name: "reports" }, []],
  [
    "its settings",
    { settings: { pg_settings: { work_mem: "64MB" } } },
    ["apply_config running", "suspend_compute scheduling"],
  ],
  ["its size", { autoscaling_limit_max_cu: 4 }, ["apply_config running", "suspend_compute scheduling"]],
  ["its branch", { branch_id: preview }, ["apply_config running", "suspend_compute scheduling"]],
])("a change of %s leaves an idle compute idle", (_, fields, actions) => {
  const shop = new Shop();
  const before = shop.get(primary);
  shop.time.pass(minute);
  const { endpoint, operations } = shop.patch(primary, fields);
  expect(inShort(operations)).toEqual(actions);
  expect([endpoint.current_state, endpoint.pending_state]).toEqual(["idle", actions.length > 0 ? "idle" : undefined]);
  expect([endpoint.last_active, at(endpoint.updated_at)]).toEqual([before.last_active, shop.time.now()]);
  const now: Endpoint = shop.finishOperations().get(primary);
  expect(now).toMatchObject({ ...fields, current_state: "idle" });
  expect(now.pending_state).toBeUndefined();
});

it("a compute moves neither to a branch that is not ready nor to one that does not exist", () => {
  const shop = new Shop({ projectLock: false });
  const { branch } = shop.ana(`POST /projects/${project}/branches`, { branch: { name: "new" } }).body;
  const id = String(Object(branch)["id"]);
  const move = (branch_id: string) => {
    const { status, body } = shop.ana(`PATCH ${path}`, { endpoint: { branch_id } });
    return [status, body["message"]];
  };
  expect([move(id), move("br-none")]).toEqual([
    [422, "branch not ready yet"],
    [404, "branch not found"],
  ]);
  expect(shop.get(primary).branch_id).toBe(main);
  shop.finishOperations();
  expect(move(id)[0]).toBe(200);
});

it("a compute that is moved uses nothing from then on, also while it is applied and suspended", () => {
  const shop = new Shop();
  const used = () => Object(shop.ana(`GET /projects/${project}`).body["project"])["cpu_used_sec"];
  shop.active();
  shop.time.pass(minute);
  shop.patch(primary, { branch_id: preview });
  const before = used();
  expect(shop.core.context.store.endpoints.countMetered(project)).toBe(0);
  shop.time.pass((shop.core.nextDue() ?? 0) - shop.time.now());
  expect(inShort(shop.operations())).toContain("suspend_compute running");
  shop.finishOperations();
  expect(before).toBeGreaterThanOrEqual(60);
  expect(used()).toBe(before);
});

it("what a compute has is not checked again by a change of something else, and is with a change of it", () => {
  const shop = new Shop();
  const [small] = shop.core.context.store.endpoints.ofBranch("br-bob");
  if (!small) throw new Error("the project has no compute");
  // As an owner's plan and earlier rules allowed it.
  const settings = { pg_settings: { max_locks_per_transaction: "1025" } };
  const stored = { minCu: 8, maxCu: 8, suspendTimeoutSeconds: -1, settings };
  shop.core.change(({ store }) => store.endpoints.update({ ...small, ...stored }));
  const change = (endpoint: object) => {
    shop.finishOperations();
    return shop.send(keys.bob, `PATCH /projects/bob-own/endpoints/${small.id}`, { endpoint }).status;
  };
  expect([change({ name: "reports" }), change({ pooler_enabled: true })]).toEqual([200, 200]);
  expect([
    change({ settings }),
    change({ autoscaling_limit_min_cu: 7 }),
    change({ autoscaling_limit_min_cu: 1, autoscaling_limit_max_cu: 2 }),
    change({ suspend_timeout_seconds: -1 }),
  ]).toEqual([400, 422, 400, 422]);
  expect(change({ settings: { pg_settings: {} }, autoscaling_limit_min_cu: 1, autoscaling_limit_max_cu: 2 })).toBe(200);
});

it("a change without a name keeps the compute's, and a service by the letter of the specification has none", () => {
  const shop = new Shop();
  shop.patch(primary, { name: "reports" });
  expect(shop.patch(primary, { pooler_enabled: true }).endpoint.name).toBe("reports");
  const strict = new Shop({ strictSpec: true });
  expect(strict.ana(`PATCH ${path}`, { endpoint: { name: "reports", pooler_enabled: true } }).status).toBe(200);
  expect(strict.core.context.store.endpoints.byId(primary)?.name).toBeUndefined();
});

it("a service by the letter of the specification leaves the name that a compute has from another one", () => {
  const strict = new Shop({ strictSpec: true });
  const { endpoints } = strict.core.context.store;
  const made = endpoints.byId(primary);
  if (made) strict.core.change(() => endpoints.update({ ...made, name: "k8s-signature" }));
  expect(strict.ana(`PATCH ${path}`, { endpoint: { name: "reports", pooler_enabled: true } }).status).toBe(200);
  expect(endpoints.byId(primary)).toMatchObject({ name: "k8s-signature", poolerEnabled: true });
});

it("the time that a change takes is that of its own steps", () => {
  const shop = new Shop();
  const { backend } = shop.core.context;
  const steps = (["start", "stop", "resize"] as const).map((step) => vi.spyOn(backend, step));
  const calls = (change: () => unknown) => {
    for (const step of steps) step.mockClear();
    change();
    shop.finishOperations();
    return steps.map(({ mock }) => mock.calls.map(([, how]) => how ?? ""));
  };
  const post = (verb: string) => shop.write(`POST ${path}/${verb}`);
  expect([
    calls(() => post("start")),
    calls(() => shop.patch(primary, { pooler_enabled: true })),
    calls(() => post("restart")),
    calls(() => post("suspend")),
    calls(() => shop.create({ branch_id: preview, type: "read_write" })),
  ]).toEqual([
    [["wake"], [], []],
    [[], [], [""]],
    [["first"], [""], []],
    [[], [""], []],
    [["first"], [], []],
  ]);
});
