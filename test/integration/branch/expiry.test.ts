import { describe, expect, it } from "vitest";
import { shownReason, timestamp } from "../../../src/operator/objects/conditions-of.ts";
import { BranchWorld, hour } from "./branches.ts";

const minute = 60_000;

describe("the end of a Branch", () => {
  it("an end after a time is sent with the create, and again only when expiry changes", async () => {
    await using world = new BranchWorld();
    world.branch("pr-1", { expiry: { after: "2h" } });
    await world.until("pr-1", "Available");
    await world.clock.advance(30 * minute);
    world.branch("pr-1", { expiry: { after: "3h" } });
    await world.clock.advance(5000);
    expect(world.msUntil(world.named("default/pr-1")?.expires_at)).toBeGreaterThan(3 * hour - 10_000);
    expect(world.object("pr-1").status).toMatchObject({ appliedExpiry: "after 3h", appliedGeneration: 2 });
    expect(world.writes).toHaveLength(2);
    await world.clock.advance(20 * minute);
    expect(world.writes).toHaveLength(2);
  });

  it("an end at a given time is sent as it is, and never removes the end", async () => {
    await using world = new BranchWorld();
    const at = new Date(world.clock.now() + 5 * hour).toISOString();
    world.branch("pr-1", { expiry: { at } });
    await world.until("pr-1", "Available");
    expect(Date.parse(world.named("default/pr-1")?.expires_at ?? "")).toBe(Math.floor(Date.parse(at) / 1000) * 1000);
    world.branch("pr-1", { expiry: { never: true } });
    await world.clock.advance(5000);
    expect(world.named("default/pr-1")?.expires_at).toBeUndefined();
    expect(world.object("pr-1").status.expiresAt).toBeUndefined();
    expect(world.reason("pr-1")).toBe("Available");
  });

  it("an end of 720h is sent as 30 days less a minute, and one that is further away is reached in steps", async () => {
    await using world = new BranchWorld();
    world.branch("pr-1", { expiry: { after: "720h" } });
    const at = new Date(world.clock.now() + 40 * 24 * hour).toISOString();
    world.branch("pr-2", { expiry: { at } });
    await world.until("pr-1", "Available");
    await world.until("pr-2", "Available");
    for (const name of ["pr-1", "pr-2"]) {
      const ms = world.msUntil(world.named(`default/${name}`)?.expires_at);
      expect(ms).toBeLessThanOrEqual(720 * hour - minute);
      expect(ms).toBeGreaterThan(720 * hour - 5 * minute);
    }
  });

  it("a lease is renewed twice in its length, paused or not, and runs out with the operator", async () => {
    await using world = new BranchWorld();
    world.branch("pr-1", { expiry: { lease: "1h" } });
    await world.until("pr-1", "Available");
    world.mark("pr-1", { paused: "true" });
    await world.clock.advance(hour);
    const renewals = world.writes.filter((write) => write.startsWith("PATCH")).length;
    expect(renewals).toBeGreaterThanOrEqual(1);
    expect(renewals).toBeLessThanOrEqual(2);
    await world.clock.advance(9 * hour);
    const all = world.writes.filter((write) => write.startsWith("PATCH")).length;
    expect(all).toBeLessThanOrEqual(20);
    expect(world.msUntil(world.named("default/pr-1")?.expires_at)).toBeGreaterThan(20 * minute);
    expect(world.reason("pr-1")).toBe("Paused");
    // Nothing of the operator is left: the service ends the branch.
    world.host.service.setFaults([{ method: "*", route: "*", kind: "503", rate: 1 }]);
    await world.clock.advance(hour + minute);
    world.host.service.setFaults([]);
    expect(world.named("default/pr-1")).toBeUndefined();
  });

  it("a lease goes on from the renewal whose answer was lost", async () => {
    await using world = new BranchWorld();
    world.branch("pr-1", { expiry: { lease: "1h" } });
    await world.until("pr-1", "Available");
    world.host.service.setFaults([{ method: "PATCH", route: "*", kind: "drop-after", count: 1 }]);
    await world.clock.advance(6 * hour);
    expect(world.named("default/pr-1")).toBeDefined();
    expect(world.reason("pr-1")).toBe("Available");
  });

  it("a lease warns and is counted for an alert when its renewal keeps failing", async () => {
    await using world = new BranchWorld();
    world.branch("pr-1", { expiry: { lease: "1h" } });
    await world.until("pr-1", "Available");
    world.host.service.setFaults([{ method: "PATCH", route: "*", kind: "503", rate: 1 }]);
    await world.clock.advance(44 * minute);
    expect(world.events("LeaseEnding")).toEqual([]);
    expect(await world.metrics()).toMatch(/^compute_operator_branch_leases_late 0$/m);
    await world.clock.advance(6 * minute);
    expect(world.events("LeaseEnding")).toHaveLength(1);
    expect(await world.metrics()).toMatch(/^compute_operator_branch_leases_late 1$/m);
    world.host.service.setFaults([]);
    await world.clock.advance(5 * minute);
    expect(world.reason("pr-1")).toBe("Available");
    expect(await world.metrics()).toMatch(/^compute_operator_branch_leases_late 0$/m);
  });

  it("an end is counted for an alert from a day before it until the branch is gone", async () => {
    await using world = new BranchWorld({ settings: { metricsNamespaces: ["default"] } });
    const counted = async () => (await world.metrics()).match(/^compute_operator_branches(_ending|\{).*$/gm);
    world.branch("pr-1", { expiry: { after: "25h" } });
    await world.until("pr-1", "Available");
    const ready = 'compute_operator_branches{namespace="default",state="Ready",ready="True"} 1';
    expect(await counted()).toEqual([ready, "compute_operator_branches_ending 0"]);
    world.branch("pr-1", { expiry: { after: "10m" } });
    await world.clock.advance(minute);
    expect(await counted()).toEqual([ready, "compute_operator_branches_ending 1"]);
    await world.until("pr-1", "Expired", 15 * minute);
    const expired = 'compute_operator_branches{namespace="default",state="Expired",ready="Expired"} 1';
    expect(await counted()).toEqual([expired, "compute_operator_branches_ending 0"]);
  });

  it("an end that a person moves later or takes away is Drifted, and kept until expiry changes", async () => {
    await using world = new BranchWorld();
    world.branch("pr-1", { expiry: { lease: "1h" } });
    world.branch("pr-2");
    await world.until("pr-1", "Available");
    await world.until("pr-2", "Available");
    const later = timestamp(world.clock.now() + 6 * hour);
    const patch = (name: string, expires_at: string | null) =>
      world.console("PATCH", `/projects/shop/branches/${world.named(name)?.id}`, { branch: { expires_at } });
    patch("default/pr-1", later);
    patch("default/pr-2", null);
    await world.until("pr-1", "Drifted");
    await world.until("pr-2", "Drifted");
    expect(world.ready("pr-2")).toMatchObject({ status: "True" });
    const before = world.writes.length;
    await world.clock.advance(5.8 * hour);
    expect(world.writes).toHaveLength(before);
    expect(world.reason("pr-1")).toBe("Drifted");
    world.branch("pr-2", { expiry: { after: "1h" } });
    await world.until("pr-2", "Available");
    expect(world.msUntil(world.named("default/pr-2")?.expires_at)).toBeLessThanOrEqual(hour);
  });

  it("an end is reckoned by the service's clock, as its answers show it", async () => {
    await using world = new BranchWorld();
    const at = new Date(world.clock.now() + hour).toUTCString();
    world.host.instead = ({ method, path }) => {
      if (method !== "GET" || !path.endsWith("/branches")) return undefined;
      const branches = [{ id: "br-main", name: "br-main", default: true }];
      return { status: 200, headers: { date: at }, body: JSON.stringify({ branches }) };
    };
    world.branch("pr-1", { expiry: { after: "2h" } });
    for (let waited = 0; world.writes.length === 0; waited += 100) await world.clock.advance(100);
    const [post] = world.host.calls.filter(({ method }) => method === "POST");
    expect(Date.parse(String(Object(Object(post?.body).branch).expires_at)) - Date.parse(at)).toBeGreaterThan(
      1.9 * hour,
    );
  });

  it("an end is not counted by a clock that somebody set, but by the service's next answer", async () => {
    await using world = new BranchWorld();
    world.branch("pr-1", { expiry: { after: "2h" } });
    await world.until("pr-1", "Available");
    const before = world.lists;
    const setBy = 1.5 * hour;
    const listed = JSON.stringify(world.console("GET", "/projects/shop/branches"));
    const serviceNow = () => world.clock.now() - setBy;
    world.host.instead = ({ method, path }) => {
      if (method !== "GET" || !path.endsWith("/branches")) return undefined;
      return { status: 200, headers: { date: new Date(serviceNow()).toUTCString() }, body: listed };
    };
    world.clock.stepWall(setBy);
    world.branch("pr-1", { expiry: { after: "1h" } });
    for (let waited = 0; world.writes.length < 2; waited += 100) await world.clock.advance(100);
    const { body } = world.host.calls.findLast(({ method }) => method === "PATCH") ?? {};
    const end = Date.parse(String(Object(Object(body).branch).expires_at));
    expect(Math.abs(end - serviceNow() - hour)).toBeLessThan(minute);
    expect(world.lists).toBeGreaterThan(before);
  });

  it("an end that is over is never sent: Expired without a branch, Rejected with one", async () => {
    await using world = new BranchWorld();
    const past = new Date(world.clock.now() - hour).toISOString();
    world.branch("pr-1", { expiry: { at: past } });
    await world.until("pr-1", "Expired");
    expect(world.ready("pr-1")).toMatchObject({ type: "Expired", status: "True" });
    world.branch("pr-2");
    await world.until("pr-2", "Available");
    world.branch("pr-2", { expiry: { at: past } });
    await world.until("pr-2", "Rejected");
    expect(world.writes).toEqual(["POST /projects/shop/branches"]);
    expect(world.named("default/pr-2")?.expires_at).toBeDefined();
  });

  it("an end that the service accepts and does not keep is Rejected, and sent again until it is kept", async () => {
    await using world = new BranchWorld();
    world.branch("pr-1", { expiry: { never: true } });
    await world.until("pr-1", "Available");
    const branch = world.named("default/pr-1");
    world.host.instead = ({ method, path }) => {
      if (method !== "PATCH" || !path.includes("/branches/")) return undefined;
      return { status: 200, headers: {}, body: JSON.stringify({ branch, operations: [] }) };
    };
    world.branch("pr-1", { expiry: { after: "6h" } });
    await world.until("pr-1", "Rejected");
    const patches = () => world.writes.filter((write) => write.startsWith("PATCH")).length;
    expect(patches()).toBe(1);
    expect(world.object("pr-1").status.appliedExpiry).toBe("never");
    // Retried with backoff, at most hourly.
    await world.clock.advance(10 * minute);
    expect(patches()).toBeGreaterThan(2);
    expect(patches()).toBeLessThan(6);
    await world.clock.advance(12 * hour);
    expect(patches()).toBeLessThan(24);
    expect(world.reason("pr-1")).toBe("Rejected");
    world.host.instead = undefined;
    await world.clock.advance(2 * hour);
    expect(world.reason("pr-1")).toBe("Available");
    expect(world.msUntil(world.named("default/pr-1")?.expires_at)).toBeLessThanOrEqual(6 * hour);
  });
});

describe("a Branch whose branch came to its end", () => {
  it("an ended Branch is Expired without an alarm or a new branch, until expiry or resetAt changes", async () => {
    await using world = new BranchWorld();
    world.branch("pr-1", { expiry: { after: "10m" } });
    await world.until("pr-1", "Available");
    await world.until("pr-1", "Expired", 15 * minute);
    const { status } = world.object("pr-1");
    expect(status).toMatchObject({ state: "Expired" });
    expect(status.conditions?.map((one) => `${one.type} ${one.status}`)).toEqual(["Expired True", "Synced True"]);
    expect(world.ready("pr-1")?.message).toMatch(/^Expired: branch br-[a-z0-9-]+ came to its end at/);
    await world.clock.advance(hour);
    expect(world.writes).toHaveLength(1);
    expect(world.timesEmitted("Expired")).toBe(1);
    world.mark("pr-1", { resetAt: "again" });
    await world.until("pr-1", "Available");
    expect(world.object("pr-1").status.branchID).not.toBe(status.branchID);
    expect(world.object("pr-1").status.resetAt).toBe("again");
    expect(world.writes).toHaveLength(2);
  });

  it("an ended Branch and its Compute stay Expired while the key is refused, until they are to be made again", async () => {
    await using world = new BranchWorld();
    world.branch("pr-1", { expiry: { after: "10m" }, compute: {} });
    await world.until("pr-1", "Expired", 15 * minute);
    const body = '{"code":"","message":"this key was revoked"}';
    world.host.instead = () => ({ status: 401, headers: { "content-type": "application/json" }, body });
    await world.clock.advance(hour);
    const { items } = world.send("GET", "/apis/compute-operator.dev/v1alpha1/namespaces/default/computes");
    expect([world.reason("pr-1"), shownReason(items[0])]).toEqual(["Expired", "Expired"]);
    world.mark("pr-1", { resetAt: "again" });
    await world.until("pr-1", "Unauthorized");
  });

  it("goes with its object, and asks the service for nothing more", async () => {
    await using world = new BranchWorld();
    world.branch("pr-1", { expiry: { after: "10m" } });
    await world.until("pr-1", "Available");
    await world.until("pr-1", "Expired", 15 * minute);
    world.drop("pr-1");
    await world.untilDropped("pr-1");
    expect(world.writes).toHaveLength(1);
  });

  it("a hundred Branches that end in one second bring no create, one event each, nothing else", async () => {
    await using world = new BranchWorld();
    const at = new Date(world.clock.now() + 20 * minute).toISOString();
    const names = Array.from({ length: 100 }, (_, index) => `pr-${index}`);
    for (const name of names) world.branch(name, { expiry: { at } });
    await world.clock.advance(10 * minute);
    expect(names.filter((name) => world.reason(name) !== "Available")).toEqual([]);
    await world.clock.advance(20 * minute);
    expect(names.filter((name) => world.reason(name) !== "Expired")).toEqual([]);
    expect(world.events("Expired")).toHaveLength(100);
    expect(world.timesEmitted("Expired")).toBe(100);
    expect(world.writes).toHaveLength(100);
    expect(world.events("MassLoss")).toEqual([]);
  });
});

it("a branch deleted outside is BranchLost and not made again, with the way to recover it, until resetAt changes", async () => {
  await using world = new BranchWorld();
  world.branch("pr-1");
  await world.until("pr-1", "Available");
  world.console("DELETE", `/projects/shop/branches/${world.named("default/pr-1")?.id}`);
  await world.until("pr-1", "BranchLost");
  expect(world.ready("pr-1")?.message).toContain("Recover it at the service");
  expect(world.object("pr-1").status.state).toBe("Lost");
  await world.clock.advance(hour);
  expect(world.writes).toHaveLength(1);
  world.mark("pr-1", { resetAt: "1" });
  await world.until("pr-1", "Available");
  expect(world.named("default/pr-1")).toBeDefined();
});

it("a branch is not believed gone from one list, nor from lists that its own GET contradicts", async () => {
  await using world = new BranchWorld();
  world.branch("pr-1");
  await world.until("pr-1", "Available");
  const id = world.named("default/pr-1")?.id;
  let lists = 0;
  world.host.instead = ({ method, path }) => {
    if (method !== "GET" || !path.endsWith("/branches")) return undefined;
    lists += 1;
    return { status: 200, headers: {}, body: JSON.stringify({ branches: [{ id: "br-main", name: "br-main" }] }) };
  };
  await world.clock.advance(3 * minute);
  expect(lists).toBeGreaterThan(3);
  expect(world.reason("pr-1")).toBe("Available");
  expect(world.host.calls.filter(({ path }) => path.endsWith(`/branches/${id}`)).length).toBeGreaterThan(0);
  world.host.instead = undefined;
  await world.clock.advance(minute);
  expect(world.reason("pr-1")).toBe("Available");
});

it("a branch is not gone because another base URL does not show it", async () => {
  await using world = new BranchWorld();
  world.branch("pr-1");
  await world.until("pr-1", "Available");
  world.services.connect("other.test");
  const path = "/apis/compute-operator.dev/v1alpha1/namespaces/default/serviceconnections/default";
  const connection = world.send("GET", path);
  const spec = (baseURL: string) => ({ ...world.send("GET", path), spec: { ...connection.spec, baseURL } });
  world.send("PUT", path, spec("http://other.test/api/v2"));
  await world.until("pr-1", "BranchNotFound");
  await world.clock.advance(hour);
  expect(world.reason("pr-1")).toBe("BranchNotFound");
  world.send("PUT", path, spec("http://service.test/api/v2"));
  await world.until("pr-1", "Available");
  expect(world.writes).toHaveLength(1);
});
