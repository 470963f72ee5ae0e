import { expect, it } from "vitest";
import { inShort, main, preview, primary, project, Shop } from "../support/shop.ts";

const minute = 60_000;
const path = `/projects/${project}/endpoints/${primary}`;
const at = (iso: unknown) => Date.parse(String(iso));

it.each<[call: string, happen: (shop: Shop) => unknown]>([
  ["a suspension", (shop) => shop.write(`POST ${path}/suspend`)],
  ["a restart", (shop) => shop.write(`POST ${path}/restart`)],
  ["a new role of its branch", (shop) => shop.ana(`POST /projects/${project}/branches/${main}/roles`, roleApp)],
])("%s is the time at which a compute was changed, and its last activity where it cuts a client", (_, happen) => {
  for (const hasClient of [false, true]) {
    const shop = new Shop();
    const before = shop.active();
    if (hasClient) shop.connect(primary, 3600);
    shop.time.pass(minute);
    happen(shop);
    const { updated_at, last_active } = shop.get(primary);
    expect(at(updated_at)).toBe(shop.time.now());
    expect(at(last_active)).toBe(hasClient ? shop.time.now() : at(before.last_active));
    shop.time.pass(minute);
    expect(shop.core.context.store.connections.count(primary, false)).toBe(0);
  }
});

const roleApp = { role: { name: "app" } };

it("the end of each operation is the time at which the compute was changed, and its state is pending until the last", () => {
  const shop = new Shop();
  shop.active();
  shop.write(`POST ${path}/restart`);
  const next = () => {
    shop.time.pass((shop.core.nextDue() ?? 0) - shop.time.now());
    const { current_state, pending_state, updated_at } = shop.get(primary);
    return [inShort(shop.operations()).slice(0, 2), current_state, pending_state, at(updated_at) - shop.time.now()];
  };
  expect(next()).toEqual([["start_compute running", "suspend_compute finished"], "idle", "active", 0]);
  expect(next()).toEqual([["start_compute finished", "suspend_compute finished"], "active", undefined, 0]);
  const [start, suspension] = shop.operations();
  expect(at(start?.updated_at)).toBeGreaterThan(at(suspension?.updated_at));
});

it("an operation of a chain begins when the one before has ended, also where it takes less time", () => {
  for (let seed = 1; seed <= 10; seed += 1) {
    const shop = new Shop({ seed });
    shop.patch(primary, { autoscaling_limit_max_cu: 4 });
    shop.time.pass((shop.core.nextDue() ?? 0) - shop.time.now());
    expect(inShort(shop.operations())).toEqual(["suspend_compute running", "apply_config finished"]);
  }
});

it("a restart and a start are refused for a compute that is disabled, and a suspension of it does nothing", () => {
  const shop = new Shop();
  shop.patch(primary, { disabled: true });
  for (const call of ["restart", "start"]) {
    const { status, body } = shop.ana(`POST ${path}/${call}`);
    const message = `endpoint ${primary} is disabled: set disabled to false before you ${call} it`;
    expect([status, body["message"]]).toEqual([409, message]);
  }
  expect(shop.write(`POST ${path}/suspend`).operations).toEqual([]);
  expect(shop.operations()).toEqual([]);
});

it("a suspension of an idle compute leaves it alone", () => {
  const shop = new Shop();
  const before = shop.get(primary);
  shop.time.pass(minute);
  expect(shop.write(`POST ${path}/suspend`)).toEqual({ endpoint: before, operations: [] });
});

it("a new role restarts the computes of its branch that run, and wakes none", () => {
  const shop = new Shop();
  shop.active();
  const idle = shop.create({ branch_id: main, type: "read_only", disabled: true }).endpoint;
  const other = shop.create({ branch_id: preview, type: "read_write", disabled: true }).endpoint;
  shop.patch(idle.id, { disabled: false });
  const { body } = shop.ana(`POST /projects/${project}/branches/${main}/roles`, roleApp);
  expect(body["operations"]).toMatchObject([{ action: "apply_config", status: "running", endpoint_id: primary }]);
  expect(shop.get(primary)).toMatchObject({ current_state: "active", pending_state: "active" });
  for (const { id } of [idle, other]) expect(shop.get(id).pending_state).toBeUndefined();
  expect(shop.finishOperations().get(idle.id).current_state).toBe("idle");
});

it("a compute is deleted also where its branch is not protected, and not where it is", () => {
  const shop = new Shop();
  const protect = (isProtected: boolean) =>
    shop.ana(`PATCH /projects/${project}/branches/${main}`, { branch: { protected: isProtected } }).status;
  expect([protect(true), shop.ana(`DELETE ${path}`).status]).toEqual([200, 422]);
  expect([protect(false), shop.ana(`DELETE ${path}`).status]).toEqual([200, 200]);
});

it("an operation takes a millisecond at least, however fast the service's time runs", () => {
  const shop = new Shop({ timeScale: 1e9 });
  shop.create({ branch_id: preview, type: "read_write" });
  expect((shop.core.nextDue() ?? 0) - shop.time.now()).toBe(1);
});

it("a compute whose first start fails is idle then, and can be started", () => {
  const shop = new Shop();
  const { endpoint, operations } = shop.create({ branch_id: preview, type: "read_write" });
  expect(endpoint.current_state).toBe("init");
  shop.core.change(({ store }) => store.operations.forceFailure(operations[0]?.id ?? "", "made to fail"));
  shop.finishOperations();
  expect(shop.get(endpoint.id)).toMatchObject({ current_state: "idle" });
  expect(shop.get(endpoint.id).pending_state).toBeUndefined();
  shop.write(`POST /projects/${project}/endpoints/${endpoint.id}/start`);
  expect(shop.finishOperations().get(endpoint.id).current_state).toBe("active");
});
