import { expect, it, vi } from "vitest";
import { mostAtOnce } from "../../../src/service/domain/due-events.ts";
import type { TestServiceOptions } from "../support/service.ts";
import { inShort, keys, main, preview, primary, project, Shop } from "../support/shop.ts";

const base = `/projects/${project}/branches`;

/** A shop whose project has so many branches that end in a minute, all at one time. */
function shopWith(count: number, options: TestServiceOptions = {}): Shop {
  const shop = new Shop({ branchRecovery: true, ...options });
  shop.core.change(({ store: { branches } }, at) => {
    const like = branches.byId(preview);
    if (!like) throw new Error(`branch ${preview} is gone`);
    const { seq: _, activeMs: __, computeMs: ___, stateChangedAt: ____, updatedAt: _____, ...fields } = like;
    for (let n = 0; n < count; n += 1) {
      branches.insert({ ...fields, id: `br-ends-${n}`, name: `ends-${n}`, expiresAt: at + 60_000, createdAt: at });
    }
  });
  return shop;
}

it("a turn of the loop carries out a part of what is due at one time, and those that follow the rest", () => {
  const shop = shopWith(2 * mostAtOnce + 1);
  const { branches } = shop.core.context.store;
  const others = branches.count(project) - 2 * mostAtOnce - 1;
  shop.time.pass(61_000);
  const left = () => {
    expect(shop.core.call({ method: "GET", path: "/healthz" }).status).toBe(200);
    return branches.count(project) - others;
  };
  expect([left(), left(), left()]).toEqual([mostAtOnce + 1, 1, 0]);
  const wanted = {
    search: "",
    by: "name",
    descending: false,
    after: undefined,
    withDeleted: true,
    limit: 1000,
  } as const;
  const ends = [...shop.core.context.store.branchPages.page(project, wanted)].map(({ expiresAt, deletion }) => [
    deletion?.at,
    expiresAt,
  ]);
  const deleted = ends.filter(([at]) => at !== undefined);
  expect([deleted.length, deleted.filter(([at, end]) => at !== end)]).toEqual([2 * mostAtOnce + 1, []]);
});

it("a turn of the loop begins nothing more that is due once it has taken long", () => {
  const shop = shopWith(20);
  const { store, clock } = shop.core.context;
  const before = store.branches.count(project);
  shop.time.pass(61_000);
  const now = clock.now.bind(clock);
  let looks = 0;
  // Each event takes ten milliseconds.
  vi.spyOn(clock, "now").mockImplementation(() => now() + 10 * (looks += 1));
  shop.core.settle(now(), mostAtOnce);
  expect(before - store.branches.count(project)).toBe(3);
  shop.core.settle(now(), mostAtOnce);
  expect(before - store.branches.count(project)).toBe(6);
});

it("the earliest of several computes, connections or branches that come due comes first, whichever was made first", () => {
  const shop = new Shop();
  const made = (suspend_timeout_seconds: number) =>
    shop.create({ branch_id: main, type: "read_only", suspend_timeout_seconds }).endpoint.id;
  const ending = (name: string, ms: number) => {
    const expires_at = new Date(shop.time.now() + ms).toISOString();
    shop.ana(`POST /projects/${project}/branches`, { branch: { name, expires_at } });
    shop.finishOperations();
  };
  ending("late", 3_600_000);
  ending("soon", 120_000);
  const late = made(3600);
  shop.finishOperations();
  const soon = made(60);
  shop.finishOperations();
  const held = made(60);
  shop.finishOperations();
  shop.active({ suspend_timeout_seconds: 60 });
  shop.connect(held, 1800);
  shop.connect(primary, 60);
  shop.time.pass(150_000);
  const states = [late, soon, held, primary].map((id) => shop.get(id).current_state);
  expect(states).toEqual(["active", "idle", "active", "idle"]);
  const names = shop.core.context.store.branches.list(project).map(({ name }) => name);
  expect([names.includes("late"), names.includes("soon")]).toEqual([true, false]);
});

it("what is due next is found in the order of an index, however much is due at one time", () => {
  const { core, database } = shopWith(3);
  core.change(() => {});
  const one = vi.spyOn(database, "one");
  core.nextDue();
  const asked = one.mock.calls.map(([sql]) => sql);
  const steps = asked.flatMap((sql) => database.all(`EXPLAIN QUERY PLAN ${sql}`)).map(({ detail }) => String(detail));
  expect(asked).toHaveLength(5);
  expect(steps.filter((step) => !/ USING ((COVERING )?INDEX|PRIMARY KEY) |^CORRELATED/.test(step))).toEqual([]);
});

it("a call that comes while more is due is made at the time of what is due next, so that usage is in order", () => {
  const shop = shopWith(mostAtOnce + 1);
  const due = shop.time.now() + 60_000;
  shop.time.pass(61_000);
  const made = () => Date.parse(String(Object(shop.ana(`POST ${base}`, {}).body["branch"])["created_at"]));
  expect([made(), made()]).toEqual([due, due + 1000]);
});

it("requests count by the clock, also while calls are made at the time of what is due next", () => {
  const shop = shopWith(5 * mostAtOnce, { rateLimits: { perMinute: 100, perSecondAndRoute: 1 } });
  shop.time.pass(61_000);
  const statuses = Array.from({ length: 4 }, () => {
    shop.time.pass(1000);
    return shop.send(keys.eve, "GET /projects").status;
  });
  expect(statuses).toEqual([200, 200, 200, 200]);
  expect(shop.send(keys.eve, "GET /projects").status).toBe(429);
});

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

it.each(["transaction", "nextToExpire"])(
  "what is due and fails for a mistake of ours, in %s, ends no call",
  (failing) => {
    const shop = shopWith(1, { branchRecovery: false });
    const { store } = shop.core.context;
    const mistake = () => {
      throw new Error("a mistake of ours");
    };
    const broken =
      failing === "transaction" ? vi.spyOn(store, "transaction") : vi.spyOn(store.branches, "nextToExpire");
    broken.mockImplementationOnce(mistake);
    shop.time.pass(61_000);
    expect(shop.ana(`GET ${base}`).status).toBe(200);
    expect(shop.errors).toEqual([new Error("a mistake of ours")]);
    expect(store.branches.byId("br-ends-0")).toBeDefined();
    expect(shop.ana(`GET ${base}`).status).toBe(200);
    expect([store.branches.byId("br-ends-0"), shop.errors.length]).toEqual([undefined, 1]);
  },
);

/** Has a change of the store fail, as for a mistake of ours, until the returned function is called. */
function mistaken({ database }: Shop, change: string): () => void {
  database.run(`CREATE TRIGGER mistake BEFORE ${change} BEGIN SELECT RAISE(ABORT, 'a mistake of ours'); END`);
  return () => database.run("DROP TRIGGER mistake");
}

/** Lets time pass with a call every so often, and answers what each call finds. */
function found<Found>(shop: Shop, { ms, calls }: { ms: number; calls: number }, look: () => Found): Found[] {
  return Array.from({ length: calls }, () => {
    shop.time.pass(ms);
    return look();
  });
}

it.each([
  ["the end of an operation", "UPDATE OF status ON operations WHEN NEW.status = 'finished' AND NEW.endpoint_id ="],
  ["the end of a connection", "DELETE ON connections WHEN OLD.endpoint_id ="],
  ["a suspension", "INSERT ON operations WHEN NEW.action = 'suspend_compute' AND NEW.endpoint_id ="],
])("%s that fails holds up its own compute alone, is tried again later, and reported once until then", (_, change) => {
  const shop = new Shop({ projectLock: false });
  const made = () => shop.create({ branch_id: main, type: "read_only", suspend_timeout_seconds: 60 }).endpoint.id;
  const [held, other] = [made(), made()];
  const end = mistaken(shop, `${change} '${held}'`);
  for (const id of [held, other]) shop.connect(id, 30);
  const states = () => [held, other].map((id) => shop.get(id).current_state);
  const [isHeld] = found(shop, { ms: 30_000, calls: 9 }, states).slice(-1);
  expect([isHeld?.[1], shop.errors.map(String)]).toEqual(["idle", ["Error: a mistake of ours"]]);
  expect(shop.get(held).suspended_at).toBeUndefined();
  end();
  expect(found(shop, { ms: 60_000, calls: 15 }, states).at(-1)).toEqual(["idle", "idle"]);
  expect(shop.errors).toHaveLength(1);
  const ran = [held, other].map((id) => shop.get(id)).map((one) => timeOf(one.suspended_at) - timeOf(one.started_at));
  const { active_time_seconds: used } = Object(shop.ana(`GET /projects/${project}`).body["project"]);
  expect(used).toBe(Math.floor(ran.reduce((sum, ms) => sum + ms, 0) / 1000));
});

it.each([
  ["the end", "UPDATE OF deleted_at ON branches WHEN NEW.id = 'br-ends-0'", 61_000],
  ["the end of the recovery", "DELETE ON branches WHEN OLD.id = 'br-ends-0'", 7 * 86_400_000],
])("%s of a branch that fails holds up no other one, and is tried again later", (_, change, ms) => {
  const shop = shopWith(3);
  const end = mistaken(shop, change);
  shop.time.pass(61_000);
  shop.core.settle();
  const left = () => {
    expect(shop.ana(`GET /projects/${project}`).status).toBe(200);
    return ["br-ends-0", "br-ends-1", "br-ends-2"].filter((id) =>
      ms > 61_000 ? shop.core.context.store.branches.byId(id) : shop.ana(`GET ${base}/${id}/endpoints`).status === 200,
    );
  };
  expect(found(shop, { ms, calls: 2 }, left)).toEqual([["br-ends-0"], ["br-ends-0"]]);
  end();
  expect(found(shop, { ms: 600_000, calls: 2 }, left)).toContainEqual([]);
  expect([...new Set(shop.errors.map(String))]).toEqual(["Error: a mistake of ours"]);
});

function timeOf(text: string | undefined): number {
  return Date.parse(text ?? "");
}

it("a branch whose end is put off is none that was deleted, and is not forgotten", () => {
  const { branches } = new Shop().core.context.store;
  branches.postpone(preview, 1000);
  expect([branches.byId(preview)?.expiresAt, branches.nextToForget()]).toEqual([1000, undefined]);
});
