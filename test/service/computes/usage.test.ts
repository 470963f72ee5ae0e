import { expect, it } from "vitest";
import { computeUnitSizes } from "../../../src/api/compute-units.ts";
import { dayMs, dayOf, meterBranch } from "../../../src/service/computes/meter.ts";
import { computeSecondsSince, lookAt, usageOf, usageOfBranch } from "../../../src/service/computes/usage.ts";
import { required } from "../../../src/service/refusal.ts";
import { seededRandom } from "../../simulation/random.ts";
import { Visitor } from "../console/visitor.ts";
import { main, preview, primary, project, Shop, staging } from "../support/shop.ts";

const branches = [main, preview, staging];
const owner = { kind: "organization", id: "org-shop" } as const;

/** A shop in which computes of any sizes run since any times, some with clients; the same for the same numbers. */
function shopWithRunning(seed: number, timeScale: number): Shop {
  const random = seededRandom(seed);
  const upTo = (most: number) => Math.floor(random() * most);
  const shop = new Shop({ timeScale });
  const { store } = shop.core.context;
  const like = required("primary", store.endpoints.byId(primary));
  const began = shop.time.now();
  shop.time.pass(5 * dayMs + upTo(dayMs));
  for (let n = 0; n < 20; n += 1) {
    const least = upTo(computeUnitSizes.length);
    const [minCu = 1, maxCu = minCu] = [least, least + upTo(3)].map((at) => computeUnitSizes[at]);
    const id = `ep-more-${n}`;
    const branchId = branches[n % branches.length] ?? main;
    // One at the beginning of a day, where both kinds of parts meet.
    const meteredAt = n === 0 ? dayOf(shop.time.now()) * dayMs : began + upTo(shop.time.now() - began + 1);
    const own = { id, branchId, minCu, maxCu, meteredAt, currentState: "active", suspendDue: undefined } as const;
    store.endpoints.insert({ ...like, ...own, type: "read_only" });
    const closesAt = shop.time.now() + dayMs;
    for (let open = upTo(4) * upTo(300); open > 0; open -= 1) {
      store.connections.open({ endpointId: id, pooled: open % 5 === 0, closesAt });
    }
  }
  return shop;
}

it.each([
  [1, 1],
  [2, 1],
  [3, 60],
  [4, 0.3],
  [5, 7.77],
])("usage is the same before and after it is recorded, of any computes (%i, time scale %f)", (seed, timeScale) => {
  const shop = shopWithRunning(seed, timeScale);
  for (const table of ["projects", "branches"])
    shop.database.run(`UPDATE ${table} SET active_ms = 700, compute_ms = 700`);
  const { context } = shop.core;
  const { store } = context;
  const at = shop.time.now();
  const days = [dayOf(at), dayOf(at) - 1, dayOf(at) - 4];
  const seen = () => [
    usageOf(context, required("project", store.projects.get(project)), at),
    ...branches.map((id) => usageOfBranch(context, required("branch", store.branches.byId(id)), at)),
  ];
  const since = () => computeSecondsSince(context, [owner], days, at);
  const [before, sinceBefore] = [seen(), since()];
  for (const id of branches) {
    const branch = required("branch", store.branches.byId(id));
    meterBranch(context, branch, at);
    store.endpoints.deleteOfBranch(branch, false);
  }
  expect(Math.min(...sinceBefore, ...before.map(({ activeSeconds }) => activeSeconds))).toBeGreaterThan(0);
  expect(seen()).toEqual(before);
  // The parts of each compute in each hour are rounded to milliseconds.
  for (const [n, seconds] of since().entries())
    expect(Math.abs(seconds - (sinceBefore[n] ?? 0))).toBeLessThanOrEqual(1);
});

it.each([1e4, 1e9])(
  "usage ends at the largest number that can be read, and all is answered (time scale %f)",
  (timeScale) => {
    const shop = new Shop({ timeScale, rateLimits: undefined });
    const never = { suspend_timeout_seconds: -1, autoscaling_limit_min_cu: 56, autoscaling_limit_max_cu: 56 };
    for (const years of [10, 10]) {
      shop.active(never);
      shop.time.pass(years * 365 * dayMs);
      shop.write(`POST /projects/${project}/endpoints/${primary}/suspend`);
      shop.finishOperations();
      const visitor = new Visitor(shop.core).signIn("acc-ana");
      const branch = `/projects/${project}/branches/${main}`;
      const calls = ["/projects", `/projects/${project}`, branch].map((path) => shop.ana(`GET ${path}`).status);
      const pages = ["/", `/app/projects/${project}`, "/app/computes?sort=used"].map(
        (path) => visitor.get(path).status,
      );
      expect([calls, pages, shop.errors]).toEqual([[200, 200, 200], [200, 200, 200], []]);
    }
    const row = shop.database.one("SELECT max(compute_ms) AS most FROM projects");
    expect(row?.["most"]).toBe(Number.MAX_SAFE_INTEGER);
  },
);

it("what was used while the clock was ahead counts in no day before that", () => {
  const shop = new Shop();
  const { context } = shop.core;
  const used = () => {
    const at = shop.time.now();
    const look = { owners: [owner], search: "", signature: { fleet: "", key: "" }, state: "", sort: "used" };
    const of = { since: dayOf(at), look: lookAt(context, at) };
    const [found] = context.store.computeSearch.find({ ...look, used: of }, { page: 1, size: 10 }).rows;
    return [...computeSecondsSince(context, [owner], [dayOf(at), dayOf(at)], at), found?.usedMs];
  };
  shop.time.pass(30 * dayMs);
  shop.active({ suspend_timeout_seconds: -1 });
  shop.time.pass(3_600_000);
  shop.write(`POST /projects/${project}/endpoints/${primary}/suspend`);
  shop.finishOperations().core.settle();
  expect(used()).not.toContainEqual(0);
  shop.time.pass(-30 * dayMs);
  expect(used()).toEqual([0, 0, 0]);
});

it("what was used before the clock was set back stays, and nothing is taken from it until the clock has caught up", () => {
  const shop = new Shop();
  shop.active({ suspend_timeout_seconds: -1 });
  const used = () => {
    const { store } = shop.core.context;
    const found = usageOf(shop.core.context, required("project", store.projects.get(project)), shop.time.now());
    return Math.min(found.activeSeconds, found.computeSeconds);
  };
  shop.time.pass(3_600_000);
  shop.patch(primary, { autoscaling_limit_min_cu: 2, autoscaling_limit_max_cu: 2 });
  const before = used();
  shop.time.pass(-60_000);
  expect(before).toBeGreaterThanOrEqual(3600);
  expect(used()).toBe(before);
});
