import { expect, it } from "vitest";
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
