import { expect, it } from "vitest";
import { UsageKeeper } from "../../../src/service/postgres/usage-keeper.ts";
import { primary, project, Shop } from "../support/shop.ts";

/** A keeper of the usage of a shop in which so many computes run, with the timers that it has set. */
function kept(computes = 120) {
  const shop = new Shop();
  shop.active({ suspend_timeout_seconds: -1 });
  const { endpoints } = shop.core.context.store;
  const like = endpoints.byId(primary);
  if (!like) throw new Error("the primary is gone");
  shop.core.change(() => {
    for (let n = 1; n < computes; n += 1) endpoints.insert({ ...like, id: `ep-more-${n}`, type: "read_only" });
  });
  const timers: (() => void)[] = [];
  const clock = {
    now: () => shop.time.now(),
    after: (_: number, act: () => void) => {
      timers.push(act);
      return () => {};
    },
  };
  const keeper = new UsageKeeper({
    context: { ...shop.core.context, clock },
    change: (act) => shop.core.change(act),
    onChange: (follower) => shop.core.onChange(follower),
    report: (error) => shop.core.report(error),
  });
  keeper.begin();
  shop.time.pass(600_000);
  const recorded = () => endpoints.list(project).filter(({ meteredAt }) => meteredAt === shop.time.now()).length;
  const next = async () => {
    timers.shift()?.();
    await new Promise(setImmediate);
    return recorded();
  };
  return { keeper, next, recorded, shop, timers };
}

it("a compute whose usage cannot be recorded, for a mistake of ours, loses that of no other one, also at the end", async () => {
  const { keeper, next, recorded, shop } = kept();
  const mistake = "WHEN NEW.id = 'ep-more-7' BEGIN SELECT RAISE(ABORT, 'a mistake of ours'); END";
  shop.database.run(`CREATE TRIGGER mistake BEFORE UPDATE ON endpoints ${mistake}`);
  expect([await next(), await next(), await next()]).toEqual([49, 99, 119]);
  expect(shop.errors.map(String)).toEqual(["Error: a mistake of ours"]);
  shop.time.pass(1000);
  await keeper.close();
  expect([recorded(), shop.errors.length]).toEqual([119, 2]);
});

it("the usage of many running computes is recorded in turns of the loop, and again ten minutes later", async () => {
  const { next, timers } = kept(101);
  expect([await next(), await next(), await next()]).toEqual([50, 100, 101]);
  expect(timers).toHaveLength(1);
});

it("the usage of all running computes is recorded when the keeper closes, also between two turns", async () => {
  const { keeper, next, recorded } = kept();
  expect(await next()).toBe(50);
  const closed = keeper.close();
  expect(recorded()).toBe(120);
  expect(await next()).toBe(120);
  await closed;
});
