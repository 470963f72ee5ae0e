import { expect, it } from "vitest";
import { BranchWorld, hour } from "./branches.ts";

const minute = 60_000;

function permutations<T>(items: readonly T[]): T[][] {
  if (items.length <= 1) return [[...items]];
  return items.flatMap((item, index) =>
    permutations([...items.slice(0, index), ...items.slice(index + 1)]).map((rest) => [item, ...rest]),
  );
}

it("the deletion of a Branch deletes neither a protected branch nor the default one, until that changes or Retain lets it go", async () => {
  await using world = new BranchWorld();
  world.branch("pr-1", { protected: true, expiry: { never: true } });
  world.branch("pr-2", { expiry: { never: true } });
  await world.until("pr-1", "Available");
  await world.until("pr-2", "Available");
  world.console("POST", `/projects/shop/branches/${world.named("default/pr-2")?.id}/set_as_default`);
  await world.clock.advance(31_000);
  world.drop("pr-1");
  world.drop("pr-2");
  await world.until("pr-1", "Protected");
  await world.until("pr-2", "Protected");
  await world.clock.advance(10 * minute);
  expect(world.made).toHaveLength(2);
  world.console("PATCH", `/projects/shop/branches/${world.named("default/pr-1")?.id}`, {
    branch: { protected: false },
  });
  await world.untilDropped("pr-1");
  world.branch("pr-2", { expiry: { never: true }, deletionPolicy: "Retain" });
  await world.untilDropped("pr-2");
  expect(world.made.map(({ name }) => name)).toEqual(["default/pr-2"]);
});

it("the deletion of a Branch waits for children, whose names it shows", async () => {
  await using world = new BranchWorld();
  world.branch("pr-1", { expiry: { never: true } });
  await world.until("pr-1", "Available");
  const child = world.madeElsewhere("child", { parent_id: world.named("default/pr-1")?.id });
  await world.clock.advance(31_000);
  expect(world.object("pr-1").status.children).toBe(1);
  world.drop("pr-1");
  await world.until("pr-1", "HasChildren");
  expect(world.ready("pr-1")?.message).toContain("child");
  world.console("DELETE", `/projects/shop/branches/${child.id}`);
  await world.untilDropped("pr-1");
  expect(world.made).toEqual([]);
});

it("the deletion of a Branch waits until the time that paused gives, and goes on then", async () => {
  await using world = new BranchWorld();
  world.branch("pr-1");
  await world.until("pr-1", "Available");
  world.mark("pr-1", { paused: new Date(world.clock.now() + 10 * minute).toISOString() });
  world.drop("pr-1");
  await world.clock.advance(9 * minute);
  expect(world.reason("pr-1")).toBe("Paused");
  expect(world.made).toHaveLength(1);
  await world.untilDropped("pr-1");
  expect(world.made).toEqual([]);
});

it("the deletion of a Branch sets no timer for a pause that ends in forty days that would fire at once", async () => {
  await using world = new BranchWorld();
  world.branch("pr-1", { expiry: { never: true } });
  await world.until("pr-1", "Available");
  world.mark("pr-1", { paused: new Date(world.clock.now() + 40 * 24 * hour).toISOString() });
  await world.clock.advance(minute);
  const after = world.clock.after.bind(world.clock);
  const delays: number[] = [];
  world.clock.after = (ms, run) => {
    delays.push(ms);
    return after(ms, run);
  };
  world.mark("pr-1", { reconcileRequestedAt: "1" });
  await world.clock.advance(24 * hour);
  // Node fires a timer of 25 days or more at once.
  expect(Math.max(...delays)).toBeLessThan(2 ** 31);
});

it.each(["2026-13-01T00:00:00Z", "2026-01-01T00:00", "1d"])(
  "the deletion of a Branch waits without end while paused holds %j, which is no time",
  async (paused) => {
    await using world = new BranchWorld();
    world.branch("pr-1");
    await world.until("pr-1", "Available");
    world.mark("pr-1", { paused });
    world.drop("pr-1");
    await world.clock.advance(10 * minute);
    expect([world.reason("pr-1"), world.made.length]).toEqual(["Paused", 1]);
  },
);

it("the deletion of a Branch waits while it is paused", async () => {
  await using world = new BranchWorld();
  world.branch("pr-1");
  await world.until("pr-1", "Available");
  world.mark("pr-1", { paused: "true" });
  world.drop("pr-1");
  await world.clock.advance(5 * minute);
  expect(world.reason("pr-1")).toBe("Paused");
  expect(world.made).toHaveLength(1);
  world.mark("pr-1", { paused: "false" });
  await world.untilDropped("pr-1");
});

it("the deletion of a hundred at once goes five a minute, with an event and a metric, and paused stops the rest", async () => {
  await using world = new BranchWorld();
  const names = Array.from({ length: 100 }, (_, index) => `pr-${index}`);
  for (const name of names) world.branch(name);
  await world.clock.advance(10 * minute);
  expect(world.made).toHaveLength(100);
  for (const name of names) world.drop(name);
  await world.clock.advance(59_000);
  expect(world.made.length).toBeGreaterThanOrEqual(95);
  await world.clock.advance(minute);
  expect(world.made.length).toBeGreaterThanOrEqual(90);
  expect(world.made.length).toBeLessThanOrEqual(95);
  expect(world.events("Deleting").some((message) => message.includes("--max-branch-deletes-per-minute"))).toBe(true);
  expect(await world.metrics()).toMatch(/^compute_operator_branch_deletes_held [1-9]\d*$/m);
  for (const name of names) if (!world.isDropped(name)) world.mark(name, { paused: "true" });
  await world.clock.advance(10_000);
  const left = world.made.length;
  await world.clock.advance(10 * minute);
  expect(world.made).toHaveLength(left);
});

it("the deletion of more Branches than a minute allows leaves no timer when the operator stops: its process would not end", async () => {
  const world = new BranchWorld();
  const names = Array.from({ length: 9 }, (_, index) => `pr-${index}`);
  for (const name of names) world.branch(name, { expiry: { never: true } });
  await world.clock.advance(minute);
  for (const name of names) world.drop(name);
  await world.clock.advance(20_000);
  await world[Symbol.asyncDispose]();
  expect([world.made.length, world.clock.pending]).toEqual([4, 0]);
});

it("the deletion of a Branch waits until a create without an answer would show, and deletes what it made", async () => {
  await using world = new BranchWorld();
  world.host.service.setFaults([{ method: "POST", route: "*", kind: "drop-before", rate: 1 }]);
  world.branch("pr-1");
  await world.until("pr-1", "CreateUnknown");
  world.drop("pr-1");
  await world.clock.advance(30_000);
  expect(world.isDropped("pr-1")).toBe(false);
  const { uid } = world.object("pr-1").metadata;
  world.host.service.setFaults([]);
  // The request takes effect as late as it may.
  world.madeElsewhere("default/pr-1", {}, { "compute-operator.dev/uid": uid });
  await world.untilDropped("pr-1");
  expect(world.made).toEqual([]);
});

it("the deletion of a Branch waits for its branch where it interrupts the create, whose link is not stored, and lists lag", async () => {
  await using world = new BranchWorld();
  await world.clock.advance(2000);
  world.branch("pr-1", { expiry: { never: true } });
  const send = world.network.send.bind(world.network);
  let until = Number.POSITIVE_INFINITY;
  world.network.send = async (request, options) => {
    const answer = await send(request, options);
    if (request.method !== "POST") return answer;
    world.drop("pr-1");
    until = world.clock.now() + 8000;
    return answer;
  };
  const branches = JSON.stringify({ branches: [world.console("GET", "/projects/shop/branches/br-main").branch] });
  world.host.instead = ({ method, path }) =>
    method === "GET" && path.endsWith("/branches") && world.clock.now() < until
      ? { status: 200, headers: { "content-type": "application/json" }, body: branches }
      : undefined;
  await world.untilDropped("pr-1");
  await world.clock.advance(minute);
  expect(world.made).toEqual([]);
  expect(world.writes).toEqual(["POST /projects/shop/branches", expect.stringMatching(/^DELETE /)]);
});

it("the deletion of a Branch waits as long where an earlier operator may have sent the create", async () => {
  await using world = new BranchWorld();
  world.host.service.setFaults([{ method: "POST", route: "*", kind: "drop-before", rate: 1 }]);
  world.branch("pr-1");
  await world.until("pr-1", "CreateUnknown");
  await world.restart(() => world.drop("pr-1"));
  await world.clock.advance(65_000);
  expect(world.isDropped("pr-1")).toBe(false);
  await world.untilDropped("pr-1");
  expect(world.made).toEqual([]);
});

it("the deletion of a Branch goes on where the answer was lost, or an operator died after it", async () => {
  await using world = new BranchWorld();
  world.branch("pr-1");
  await world.until("pr-1", "Available");
  world.host.service.setFaults([{ method: "DELETE", route: "*", kind: "drop-after", count: 1 }]);
  world.drop("pr-1");
  await world.clock.advance(2000);
  await world.restart();
  await world.untilDropped("pr-1");
  expect(world.made).toEqual([]);
});

it("the deletion of the definition itself lets every Branch go and deletes nothing at the service", async () => {
  await using world = new BranchWorld();
  world.branch("pr-1");
  world.branch("pr-2", { expiry: { never: true } });
  await world.until("pr-1", "Available");
  await world.until("pr-2", "Available");
  const crd = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/branches.compute-operator.dev";
  world.send("DELETE", crd);
  await world.clock.advance(minute);
  expect(world.server.handle({ method: "GET", path: crd }).status).toBe(404);
  expect(world.made).toHaveLength(2);
  expect(world.writes.filter((write) => write.startsWith("DELETE"))).toEqual([]);
});

it("the deletion of a Branch ends in each order of Secret, connection, Branch and Compute, and leaves nothing at the service", async () => {
  const group = "/apis/compute-operator.dev/v1alpha1/namespaces/default";
  const paths = {
    secret: "/api/v1/namespaces/default/secrets/service-api-key",
    connection: `${group}/serviceconnections/default`,
    branch: `${group}/branches/pr-1`,
    compute: `${group}/computes/db-0`,
  };
  for (const order of permutations(Object.values(paths))) {
    await using world = new BranchWorld();
    world.branch("pr-1");
    world.declare(0, { projectID: "shop", branchRef: { name: "pr-1" } });
    await world.settle(1);
    for (const path of order) {
      world.send("DELETE", path);
      await world.clock.advance(500);
    }
    const isLeft = (path: string) => world.server.handle({ method: "GET", path }).status !== 404;
    for (let waited = 0; order.some(isLeft) && waited < 6 * minute; waited += 5000) await world.clock.advance(5000);
    expect([order, order.filter(isLeft)]).toEqual([order, []]);
    expect([world.made, world.endpoints]).toEqual([[], []]);
  }
}, 60_000);

it("the deletion of a Branch takes no other service's list for a proof, and goes on once the base URL is back", async () => {
  await using world = new BranchWorld();
  world.services.connect("other.test");
  world.branch("pr-1", { expiry: { never: true } });
  await world.until("pr-1", "Available");
  const path = "/apis/compute-operator.dev/v1alpha1/namespaces/default/serviceconnections/default";
  const leadsTo = (baseURL: string) => {
    const connection = world.send("GET", path);
    const before: string = connection.spec.baseURL;
    world.send("PUT", path, { ...connection, spec: { ...connection.spec, baseURL } });
    return before;
  };
  const before = leadsTo("http://other.test/api/v2");
  await world.clock.advance(minute);
  world.drop("pr-1");
  await world.clock.advance(5 * minute);
  expect([world.reason("pr-1"), world.made.length, world.events("Deleted")]).toEqual(["BranchNotFound", 1, []]);
  leadsTo(before);
  await world.untilDropped("pr-1");
  expect(world.made).toEqual([]);
});

it("the deletion of a Branch says what is in the way while the service is not reached, and goes with Retain", async () => {
  await using world = new BranchWorld();
  world.branch("pr-1");
  await world.until("pr-1", "Available");
  world.host.service.setFaults([{ method: "*", route: "*", kind: "503", rate: 1 }]);
  await world.clock.advance(2 * minute);
  world.drop("pr-1");
  await world.clock.advance(2 * minute);
  expect(world.reason("pr-1")).toBe("ServiceUnavailable");
  expect(world.ready("pr-1")?.message).toContain("deletionPolicy: Retain");
  world.branch("pr-1", { deletionPolicy: "Retain" });
  await world.untilDropped("pr-1");
});
