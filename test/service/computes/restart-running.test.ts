import { expect, it } from "vitest";
import { main, preview, project, Shop } from "../support/shop.ts";

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
