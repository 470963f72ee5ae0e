import { expect, it } from "vitest";
import { changeInParts } from "../../src/service/change-in-parts.ts";
import { setBack } from "../../src/service/computes/set-back.ts";
import { takeUp } from "../../src/service/postgres/runner.ts";
import { primary, project, Shop } from "./support/shop.ts";

/** A shop with two running computes, of which the first cannot be changed for a mistake of ours. */
function withMistake(): Shop {
  const shop = new Shop();
  shop.active({ suspend_timeout_seconds: 600 });
  const { endpoints } = shop.core.context.store;
  const like = endpoints.byId(primary);
  if (!like) throw new Error("the primary is gone");
  shop.core.change(() => endpoints.insert({ ...like, id: "ep-second", type: "read_only" }));
  const mistake = `WHEN NEW.id = '${primary}' BEGIN SELECT RAISE(ABORT, 'a mistake of ours'); END`;
  shop.database.run(`CREATE TRIGGER mistake BEFORE UPDATE ON endpoints ${mistake}`);
  return shop;
}

it("a compute that cannot be taken up at a start, for a mistake of ours, keeps no other one from it", () => {
  const shop = withMistake();
  changeInParts(shop.core, takeUp);
  const states = shop.core.context.store.endpoints.list(project).map(({ id, currentState }) => [id, currentState]);
  expect(Object.fromEntries(states)).toMatchObject({ [primary]: "active", "ep-second": "idle" });
  expect(shop.errors.map(String)).toEqual(["Error: a mistake of ours"]);
});

it("a compute that a clock set back cannot bring, for a mistake of ours, keeps no other one from it", () => {
  const shop = withMistake();
  const at = shop.time.now() - 3_600_000;
  changeInParts(shop.core, (context) => setBack(context, at));
  const { endpoints } = shop.core.context.store;
  expect(endpoints.byId("ep-second")).toMatchObject({ lastActive: at, suspendDue: at + 600_000 });
  expect(endpoints.byId(primary)?.lastActive).toBeGreaterThan(at);
  expect(shop.errors.map(String)).toEqual(["Error: a mistake of ours"]);
});
