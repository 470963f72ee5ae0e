import { expect, it } from "vitest";
import { meter } from "../../../src/service/computes/meter.ts";
import { setBack } from "../../../src/service/computes/set-back.ts";
import { primary, project, Shop } from "../support/shop.ts";

it("an operation that has begun ends at its own time, and one that would begin later, as the clock was set back, now", () => {
  const shop = new Shop();
  const path = `/projects/${project}/endpoints/${primary}`;
  shop.write(`POST ${path}/start`);
  const [due, now] = [shop.core.nextDue(), shop.time.now()];
  expect(due).toBeGreaterThan(now);
  const dueAfter = (at: number) => {
    shop.core.change((context) => setBack(context, at));
    return shop.core.nextDue();
  };
  expect([dueAfter(now), dueAfter(now - 60_000)]).toEqual([due, now - 60_000]);
});

it("a compute that runs as the clock is set back is used from then on, and suspended as if a client had left it then", () => {
  const shop = new Shop();
  const { core } = shop;
  const { store } = core.context;
  shop.active();
  const then = shop.time.now() - 60_000;
  core.change((context) => setBack(context, then));
  expect(core.nextDue()).toBe(then + 300_000);
  const [endpoint] = store.endpoints.active();
  if (!endpoint) throw new Error("no compute is active");
  core.change((context) => meter(context, endpoint, then + 30_000));
  expect(store.projects.get(project)).toMatchObject({ activeMs: 30_000 });
});

it("a client of a compute stays no longer than it was to, also where the clock is set back", () => {
  const shop = new Shop();
  shop.active();
  shop.connect(primary, 120);
  const then = shop.time.now() - 60_000;
  shop.core.change((context) => setBack(context, then));
  expect(shop.core.nextDue()).toBe(then + 120_000);
});
