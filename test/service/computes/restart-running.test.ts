import { expect, it, vi } from "vitest";
import { main, preview, primary, project, Shop } from "../support/shop.ts";

it("a restored branch restarts those of its computes that run, cuts their clients, and wakes none", () => {
  const shop = new Shop();
  const create = (fields: object) => {
    const { id } = shop.create({ branch_id: preview, suspend_timeout_seconds: -1, ...fields }).endpoint;
    shop.finishOperations();
    return id;
  };
  const served = create({ type: "read_write" });
  const alone = create({ type: "read_only" });
  const idle = create({ type: "read_only", disabled: true });
  shop.connect(served, 3600);
  const [before, rested] = [shop.get(alone), shop.get(idle)];
  shop.time.pass(60_000);
  const now = new Date(shop.time.now()).toISOString();
  const { body } = shop.ana(`POST /projects/${project}/branches/${preview}/restore`, { source_branch_id: main });
  const restart = { action: "apply_config", status: "running" };
  expect(body["operations"]).toMatchObject([
    { ...restart, endpoint_id: served },
    { ...restart, endpoint_id: alone },
  ]);
  const changed = { current_state: "active", pending_state: "active", updated_at: now };
  expect(shop.get(served)).toMatchObject({ ...changed, last_active: now });
  expect(shop.get(alone)).toMatchObject({ ...changed, last_active: before.last_active });
  expect(shop.core.context.store.connections.any(served)).toBe(false);
  shop.finishOperations();
  expect(shop.get(served).started_at).not.toBe(before.started_at);
  expect([shop.get(served).current_state, shop.get(idle)]).toEqual(["active", rested]);
});

/** A shop of which so many computes run. */
function running(computes: number): Shop {
  const shop = new Shop();
  shop.active({ suspend_timeout_seconds: -1 });
  const { endpoints } = shop.core.context.store;
  const like = endpoints.byId(primary);
  if (!like) throw new Error("the primary is gone");
  shop.core.change(() => {
    for (let n = 0; n < computes - 1; n += 1)
      endpoints.insert({ ...like, id: `ep-more-${n}`, branchId: n % 2 ? main : preview, type: "read_only" });
  });
  return shop;
}

const settings = { enable_logical_replication: true };

it("a call that would restart more than a hundred computes is refused, and restarts none of them", () => {
  const shop = running(101);
  const { status, body } = shop.ana(`PATCH /projects/${project}`, { project: { settings } });
  expect([status, body["message"]]).toEqual([422, expect.stringMatching(/at most 100 running .* suspend others/)]);
  expect(shop.core.context.store.operations.anyUnfinished(project)).toBe(false);
});

it("computes that are restarted by one call are added up, and counted, together", () => {
  const shop = running(100);
  const { store } = shop.core.context;
  const usage = () => shop.ana(`GET /projects/${project}`).body["project"];
  const ofBranch = (id: string) => shop.ana(`GET /projects/${project}/branches/${id}`).body["branch"];
  shop.time.pass(7_200_000);
  const before = usage();
  const branches = [main, preview].map((id) => Object(ofBranch(id))["cpu_used_sec"]);
  const counted = vi.spyOn(store.endpoints, "countMetered");
  const added = [store.projects, store.branches].map((table) => vi.spyOn(table, "addUsage"));
  expect(shop.ana(`PATCH /projects/${project}`, { project: { settings } }).body["operations"]).toHaveLength(100);
  expect([counted, ...added].map(({ mock }) => mock.calls.length)).toEqual([1, 1, 2]);
  expect(usage()).toMatchObject({ cpu_used_sec: Object(before)["cpu_used_sec"] });
  expect([main, preview].map((id) => Object(ofBranch(id))["cpu_used_sec"])).toEqual(branches);
  const own = ["ep-more-0", primary].map((id) => store.quarters.since(id, 0).length);
  expect(own).toEqual([9, 9]);
  shop.finishOperations();
  expect(store.usageHours.since(project, 0).map(({ peak }) => peak)).toEqual([expect.any(Number), 0, 100]);
});
