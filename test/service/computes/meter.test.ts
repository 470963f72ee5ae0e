import { beforeEach, expect, it, onTestFinished, vi } from "vitest";
import { meter, sizeWith, usageByHour } from "../../../src/service/computes/meter.ts";
import { usageOf } from "../../../src/service/computes/usage.ts";
import { rules } from "../../../src/service/rules.ts";
import { keys, main, preview, primary, project, Shop, staging } from "../support/shop.ts";

const hour = 3_600_000;
const minute = 60_000;

let shop: Shop;
beforeEach(() => {
  shop = new Shop();
});

/** A compute of one unit, or of another size, that never suspends and has just become active. */
function running(size = 1): string {
  const sizes = { autoscaling_limit_min_cu: size, autoscaling_limit_max_cu: size };
  const wanted = { branch_id: main, type: "read_only", suspend_timeout_seconds: -1, ...sizes };
  const { endpoint } = shop.create(wanted);
  shop.finishOperations().core.settle();
  return endpoint.id;
}

function suspend(id: string): void {
  shop.write(`POST /projects/${project}/endpoints/${id}/suspend`);
  shop.finishOperations().core.settle();
}

/** The last hours: minutes of compute units, and the most computes at one time. */
function hours(count: number, of = shop): [minutes: number, peak: number][] {
  const { context } = of.core;
  const found = context.store.projects.get(project);
  if (!found) throw new Error("the project is gone");
  return usageByHour(context, found, count, of.time.now()).map(({ computeMs, peak }) => [
    Math.round(computeMs / minute),
    peak,
  ]);
}

it("the usage is that of each hour, with sizes, and with what still runs", () => {
  const id = running(2);
  shop.time.pass(1.5 * hour);
  expect(hours(3)).toEqual([
    [0, 0],
    [120, 1],
    [60, 1],
  ]);
  suspend(id);
  shop.time.pass(hour);
  expect(hours(4)).toEqual([
    [0, 0],
    [120, 1],
    [60, 1],
    [0, 0],
  ]);
});

it("the usage begins when a compute is active, and not when a client waits for its first start", () => {
  const { endpoint } = shop.create({ branch_id: main, type: "read_only" });
  expect(shop.connect(endpoint.id, 60).status).toBe(200);
  shop.time.pass(10_000);
  shop.core.settle();
  expect(shop.ana(`GET /projects/${project}`).body["project"]).toMatchObject({ active_time_seconds: 9 });
});

it("the usage counts the most computes at one time, also where one goes when another comes", () => {
  const [first, second] = [running(), running()];
  suspend(first);
  running();
  expect(hours(1)[0]?.[1]).toBe(2);
  suspend(second);
  expect(hours(1)[0]?.[1]).toBe(2);
});

it("the usage counts computes that came just before the hour ended", () => {
  running();
  shop.time.pass(59 * minute);
  running();
  running();
  shop.time.pass(hour);
  expect(hours(2).map(([, peak]) => peak)).toEqual([3, 3]);
});

it("the usage counts computes that were active when the hour began, and of which two went soon", () => {
  const [first, second] = [running(), running(), running()];
  shop.time.pass(hour);
  shop.write(`DELETE /projects/${project}/endpoints/${first}`);
  shop.write(`DELETE /projects/${project}/endpoints/${second}`);
  shop.time.pass(30 * minute);
  expect(hours(2)[1]?.[1]).toBe(3);
  shop.time.pass(hour);
  expect(hours(1)[0]?.[1]).toBe(1);
});

it("the usage counts computes that ran through an hour in which nothing was changed", () => {
  running();
  running();
  shop.time.pass(3 * hour);
  expect(hours(3)).toEqual([
    [120, 2],
    [120, 2],
    [expect.any(Number), 2],
  ]);
});

it("a compute that has run for a year is recorded in no more hours than are kept", () => {
  const id = running();
  const before = shop.core.context.store.projects.get(project)?.activeMs ?? 0;
  shop.time.pass(365 * 24 * hour);
  const added = vi.spyOn(shop.core.context.store.usageHours, "add");
  expect(hours(2).map(([minutes]) => minutes)).toEqual([60, expect.any(Number)]);
  suspend(id);
  expect(Math.max(...added.mock.calls.map(([, ...parts]) => parts.length))).toBe(7 * 24);
  const after = shop.core.context.store.projects.get(project)?.activeMs ?? 0;
  expect(Math.round((after - before) / hour)).toBe(365 * 24);
});

it("the usage is kept for a week, across restarts, and goes with the project", () => {
  const id = running();
  shop.time.pass(hour);
  suspend(id);
  const rows = () => shop.core.context.store.usageHours.since(project, 0).length;
  expect(rows()).toBe(2);
  shop.time.pass(8 * 24 * hour);
  running();
  expect(rows()).toBe(1);
  shop.ana(`DELETE /projects/${project}`);
  shop.core.clear();
  expect(rows()).toBe(0);
});

it("the usage is in the service's scaled time, and counts no compute twice for that", () => {
  shop = new Shop({ timeScale: 60 });
  running();
  shop.time.pass(minute);
  const [last] = hours(1);
  expect(last?.[0]).toBeGreaterThanOrEqual(60);
  expect(last?.[0]).toBeLessThan(64);
  expect(last?.[1]).toBe(1);
});

it("the usage agrees with the usage of the project", () => {
  running(4);
  shop.time.pass(5 * hour);
  shop.patch(primary, { suspend_timeout_seconds: 60 });
  shop.connect(primary, 600);
  shop.time.pass(2 * hour);
  shop.core.settle();
  const total = hours(24).reduce((sum, [minutes]) => sum + minutes, 0);
  const used = Number(Object(shop.ana(`GET /projects/${project}`).body["project"])["cpu_used_sec"]);
  expect(Math.abs(total - used / 60)).toBeLessThan(8);
});

const computes = `/projects/${project}/endpoints`;
const branches = `/projects/${project}/branches`;

const range = { autoscaling_limit_min_cu: 0.25, autoscaling_limit_max_cu: 4, suspend_timeout_seconds: -1 };

/** The project's usage now: seconds of a compute unit. */
function usedSeconds(): number {
  const found = shop.core.context.store.projects.get(project);
  if (!found) throw new Error("the project is gone");
  return usageOf(shop.core.context, found, shop.time.now()).computeSeconds;
}

/** An autoscaling compute that 226 clients have at one unit: one more than half a unit takes. */
function crowded(forMs: number): string {
  const { endpoint } = shop.create({ branch_id: preview, type: "read_write", ...range });
  shop.finishOperations().core.settle();
  shop.core.change((context, at) => {
    const found = context.store.endpoints.byId(endpoint.id);
    if (!found) throw new Error("the compute is gone");
    meter(context, found, at);
    context.store.endpoints.update(found);
    for (let open = 0; open < 226; open += 1) {
      context.backend.connect(found, { pooled: false, closesAt: at + (open === 0 ? forMs : 2 * hour) });
    }
  });
  return endpoint.id;
}

it.each<[what: string, happen: (id: string) => { status: number } | { operations: unknown }]>([
  ["it is suspended", (id) => shop.write(`POST ${computes}/${id}/suspend`)],
  ["it is restarted", (id) => shop.write(`POST ${computes}/${id}/restart`)],
  ["it is disabled", (id) => shop.patch(id, { disabled: true })],
  ["its settings change", (id) => shop.patch(id, { settings: { pg_settings: { max_locks_per_transaction: "128" } } })],
  ["its range changes", (id) => shop.patch(id, { autoscaling_limit_min_cu: 2 })],
  ["it is moved", (id) => shop.patch(id, { branch_id: staging })],
  ["it is deleted", (id) => shop.write(`DELETE ${computes}/${id}`)],
  ["its branch is deleted", () => shop.ana(`DELETE ${branches}/${preview}`)],
  ["its branch is reset", () => shop.ana(`POST ${branches}/${preview}/restore`, { source_branch_id: main })],
  ["its branch gets a role", () => shop.ana(`POST ${branches}/${preview}/roles`, { role: { name: "app" } })],
])("the usage has the size that its clients give a compute until %s", (_, happen) => {
  const id = crowded(2 * hour);
  const before = usedSeconds();
  shop.time.pass(hour / 2);
  const answer = happen(id);
  expect("status" in answer ? answer.status : 200).toBeLessThan(300);
  expect(usedSeconds() - before).toBe(1800);
});

it("the usage has the size that its clients give a compute until one of them leaves", () => {
  crowded(hour / 2);
  const before = usedSeconds();
  shop.time.pass(hour / 2);
  shop.core.settle();
  expect(usedSeconds() - before).toBe(1800);
  shop.time.pass(hour / 2);
  expect(usedSeconds() - before).toBe(1800 + 900);
});

it("the usage has the size that its clients give a compute from the one on that comes", () => {
  const id = crowded(minute);
  shop.time.pass(2 * minute);
  shop.core.settle();
  const before = usedSeconds();
  shop.time.pass(hour / 2);
  expect(shop.connect(id, 3600).status).toBe(200);
  expect(usedSeconds() - before).toBe(900);
  shop.time.pass(hour / 2);
  expect(usedSeconds() - before).toBe(900 + 1800);
});

it("the usage is written only where there is some, and the number of computes once an hour", () => {
  const idle = shop.create({ branch_id: preview, type: "read_write", disabled: true }).endpoint;
  const id = running();
  shop.time.pass(minute);
  const writes = vi.spyOn(shop.database, "run");
  onTestFinished(() => writes.mockRestore());
  const written = (what: RegExp) => {
    const found = writes.mock.calls.filter(([sql]) => what.test(sql)).length;
    writes.mockClear();
    return found;
  };
  const usage = /INSERT INTO usage_hours|UPDATE \w+ SET active_ms/;
  shop.connect(id, 7200);
  expect(written(usage)).toBe(3);
  shop.connect(id, 7200);
  shop.patch(idle.id, { name: "idle" });
  expect(written(usage)).toBe(0);
  shop.time.pass(hour);
  shop.connect(id, 7200);
  expect(written(/INSERT INTO usage_hours/)).toBe(3);
});

it.each([
  [2, 2, 0, 2],
  [2, 2, 5000, 2],
  [0.25, 4, 0, 0.25],
  [0.25, 4, 112, 0.25],
  [0.25, 4, 113, 0.5],
  [0.25, 4, 226, 1],
  [1, 2, 226, 1],
  [1, 2, 451, 2],
  [1, 2, 902, 2],
  [0.25, 16, 5000, 16],
])("a compute from %s to %s CU with %s clients has %s CU", (minCu, maxCu, clients, size) => {
  expect(sizeWith(rules.specification, { minCu, maxCu }, clients)).toBe(size);
});

it("the usage is that of each project and of each branch", () => {
  crowded(2 * hour);
  const other = { branch_id: "br-two", type: "read_only", ...range, autoscaling_limit_min_cu: 4 };
  expect(shop.ana("POST /projects/shop-two/endpoints", { endpoint: other }).status).toBe(201);
  shop.finishOperations().core.settle();
  const seconds = (path: string, of: "project" | "branch") =>
    Number(Object(shop.send(keys.ana, `GET ${path}`).body[of])["cpu_used_sec"]);
  const all = () => [
    seconds(`/projects/${project}`, "project"),
    seconds(`${branches}/${preview}`, "branch"),
    seconds(`${branches}/${main}`, "branch"),
    seconds("/projects/shop-two", "project"),
    seconds("/projects/shop-two/branches/br-two", "branch"),
  ];
  const before = all();
  shop.time.pass(hour);
  expect(all().map((now, index) => now - (before[index] ?? 0))).toEqual([3600, 3600, 0, 14_400, 14_400]);
});
