import { expect, it } from "vitest";
import { inShort, main, preview, primary, project, Shop } from "../support/shop.ts";

const base = `/projects/${project}/branches`;

/** Lets time pass until the next timer. */
function toNextTimer({ core, time }: Shop): void {
  time.pass((core.nextDue() ?? time.now()) - time.now());
}

it("a branch that is restored is ready when the last of its computes has restarted, and not before", () => {
  const shop = new Shop();
  for (const type of ["read_write", "read_only"]) {
    shop.create({ branch_id: preview, type, suspend_timeout_seconds: -1 });
    shop.finishOperations();
  }
  const state = () => Object(shop.ana(`GET ${base}/${preview}`).body["branch"])["current_state"];
  expect(shop.ana(`POST ${base}/${preview}/restore`, { source_branch_id: main }).status).toBe(200);
  const restarts = () => inShort(shop.operations()).slice(0, 2).toSorted();
  expect([restarts(), state()]).toEqual([["apply_config running", "apply_config running"], "resetting"]);
  toNextTimer(shop);
  expect([restarts(), state()]).toEqual([["apply_config finished", "apply_config running"], "resetting"]);
  toNextTimer(shop);
  expect([restarts(), state()]).toEqual([["apply_config finished", "apply_config finished"], "ready"]);
});

it("the next timer is the earliest of an operation, a connection, an inactivity and a branch's end, or none", () => {
  const shop = new Shop();
  const next = () => (shop.core.nextDue() ?? Number.NaN) - shop.time.now();
  expect(next()).toBeNaN();
  shop.active();
  const inactivity = next();
  expect(inactivity).toBeGreaterThan(290_000);
  const expires_at = new Date(shop.time.now() + 100_000).toISOString();
  expect(shop.ana(`PATCH ${base}/${preview}`, { branch: { expires_at } }).status).toBe(200);
  expect(next()).toBe(100_000);
  shop.connect(primary, 50);
  expect(next()).toBe(50_000);
  shop.patch(primary, { pooler_enabled: true });
  expect(next()).toBeLessThan(3000);
  shop.finishOperations();
  shop.time.pass(120_000);
  expect(shop.ana(`GET ${base}/${preview}`).status).toBe(404);
  expect(next()).toBeGreaterThan(200_000);
});
