import { describe, expect, it } from "vitest";
import { type ClusterWeather, calm, type RequestFate } from "../../simulation/api-server/faults.ts";
import { BranchWorld, hour } from "./branches.ts";

const minute = 60_000;
const resets = (world: BranchWorld) =>
  world.host.calls.filter(({ path, status }) => path.endsWith("/restore") && status !== 423).length;

const formerNote = {
  "compute-operator.dev/uid": "gone-uid",
  "compute-operator.dev/object": "default/pr-1",
  "compute-operator.dev/fleet": "prod",
};

/** What becomes of the next patch that records a reset; all else is calm. */
function recording(): { weather: ClusterWeather; onRecord: (fate: RequestFate) => void } {
  let next: RequestFate | undefined;
  const request: ClusterWeather["request"] = (asked, timeoutMs) => {
    const fate = JSON.stringify(asked.body ?? "").includes("pendingWrite") ? next : undefined;
    if (fate !== undefined) next = undefined;
    return fate ?? calm.request(asked, timeoutMs);
  };
  return {
    weather: { ...calm, request },
    onRecord: (fate) => {
      next = fate;
    },
  };
}

async function begun(world: BranchWorld, spec: object = {}): Promise<string> {
  world.branch("pr-1", { expiry: { never: true }, ...spec });
  await world.until("pr-1", "Available");
  return world.named("default/pr-1")?.id ?? "";
}

describe("the annotation resetAt", () => {
  it("asks for one reset, which is done once and shown; the end counts from the reset", async () => {
    await using world = new BranchWorld();
    await begun(world, { expiry: { after: "2h" } });
    await world.clock.advance(hour);
    world.mark("pr-1", { resetAt: "1" });
    await world.clock.advance(20_000);
    expect(resets(world)).toBe(1);
    expect(world.named("default/pr-1")?.last_reset_at).toBeDefined();
    expect(world.object("pr-1").status).toMatchObject({ resetAt: "1", state: "Ready" });
    expect(world.object("pr-1").status.pendingWrite).toBeUndefined();
    // The service begins the interval again itself, so no end is sent.
    expect(world.writes.filter((write) => write.startsWith("PATCH"))).toEqual([]);
    expect(world.object("pr-1").status.appliedExpiry).toBe("after 2h");
    expect(world.msUntil(world.named("default/pr-1")?.expires_at)).toBeGreaterThan(2 * hour - minute);
    await world.clock.advance(10 * minute);
    expect(resets(world)).toBe(1);
    expect(world.events("Reset")).toHaveLength(1);
  });

  it("a reset that was refused and then lost is not sent a third time", async () => {
    await using world = new BranchWorld();
    await begun(world);
    world.host.service.setFaults([{ method: "POST", route: "*", kind: "423", count: 1 }]);
    world.mark("pr-1", { resetAt: "1" });
    for (let waited = 0; world.host.calls.every(({ status }) => status !== 423); waited += 100) {
      if (waited > 10_000) throw new Error("no reset was refused");
      await world.clock.advance(100);
    }
    world.host.service.setFaults([{ method: "POST", route: "*", kind: "drop-before", count: 1 }]);
    await world.clock.advance(5 * minute);
    expect(world.writes.filter((write) => write.endsWith("/restore"))).toHaveLength(2);
    expect(world.ready("pr-1")).toMatchObject({ reason: "Rejected", message: expect.stringContaining("new value") });
  });

  it("a reset whose answer is lost is not sent again, though somebody puts back the status from before its record", async () => {
    await using world = new BranchWorld();
    await begun(world);
    const { status } = world.object("pr-1");
    world.host.service.setFaults([{ method: "POST", route: "*", kind: "drop-before", count: 1 }]);
    world.mark("pr-1", { resetAt: "1" });
    const isSent = () => world.writes.some((write) => write.endsWith("/restore"));
    for (let waited = 0; !isSent() || world.reason("pr-1") === "Resetting"; waited += 100) {
      if (waited > 60_000) throw new Error("no reset was sent");
      await world.clock.advance(100);
    }
    world.replaceStatus("pr-1", status);
    await world.clock.advance(minute / 2);
    expect(world.object("pr-1").status.pendingWrite).toMatchObject({ value: "1" });
    await world.clock.advance(5 * minute);
    expect(world.writes.filter((write) => write.endsWith("/restore"))).toHaveLength(1);
    expect(world.ready("pr-1")).toMatchObject({ reason: "Rejected", message: expect.stringContaining("new value") });
  });

  it("a reset that another write's busy answer kept back is sent later, and was not lost", async () => {
    const { weather, onRecord } = recording();
    await using world = new BranchWorld({ weather });
    await begun(world);
    // At a service that shows the names of endpoints several writes of a project are under way at once.
    world.branch("pr-2", { expiry: { never: true }, compute: { computeUnits: { min: 1, max: 1 } } });
    await world.until("pr-2", "Available");
    await world.clock.advance(2 * minute);
    onRecord({ kind: "answered", arriveMs: 100, replyMs: 2000 });
    world.mark("pr-1", { resetAt: "1" });
    await world.clock.advance(1000);
    world.host.service.setFaults([{ method: "PATCH", route: "*", kind: "423", count: 1 }]);
    world.branch("pr-2", { expiry: { after: "9h" }, compute: { computeUnits: { min: 1, max: 1 } } });
    await world.clock.advance(minute);
    const sent = world.host.calls.filter(({ method }) => method !== "GET").slice(-3);
    expect(sent.map(({ method, status }) => `${method} ${status}`)).toEqual(["PATCH 423", "PATCH 200", "POST 200"]);
    expect(resets(world)).toBe(1);
    expect(world.reason("pr-1")).toBe("Available");
    expect(world.object("pr-1").status.pendingWrite).toBeUndefined();
  });

  it("a reset whose record is stored, but for the API server's answer, is sent and was not lost", async () => {
    const { weather, onRecord } = recording();
    await using world = new BranchWorld({ weather });
    await begun(world);
    await world.clock.advance(2 * minute);
    onRecord({ kind: "lost", arriveMs: 0, afterMs: 1000 });
    world.mark("pr-1", { resetAt: "1" });
    await world.clock.advance(minute);
    expect(resets(world)).toBe(1);
    expect(world.object("pr-1").status).toMatchObject({ resetAt: "1", state: "Ready" });
    expect(world.reason("pr-1")).toBe("Available");
  });

  it("a reset that was refused leaves no record, so the next operator sends it", async () => {
    await using world = new BranchWorld();
    await begun(world);
    world.host.service.setFaults([{ method: "POST", route: "*", kind: "423", count: 2 }]);
    world.mark("pr-1", { resetAt: "1" });
    await world.until("pr-1", "ProjectBusy");
    expect(world.object("pr-1").status.pendingWrite).toBeUndefined();
    await world.restart();
    await world.clock.advance(5 * minute);
    expect(resets(world)).toBe(1);
    expect(world.reason("pr-1")).toBe("Available");
  });

  it("a resetAt that is there from the start asks for nothing", async () => {
    await using world = new BranchWorld();
    world.branch("pr-1", {}, { resetAt: "old" });
    await world.until("pr-1", "Available");
    await world.clock.advance(minute);
    expect(resets(world)).toBe(0);
    expect(world.object("pr-1").status.resetAt).toBe("old");
  });

  it.each([
    ["taken over with adopt.former", { former: true }],
    ["adopted by name", { byName: true }],
  ])("a resetAt that is there from the start asks for nothing of a branch that is %s", async (_, adopt) => {
    await using world = new BranchWorld({ settings: { fleet: "prod" } });
    world.madeElsewhere("default/pr-1", {}, "former" in adopt ? formerNote : undefined);
    world.branch("pr-1", { adopt, expiry: { never: true } }, { resetAt: "old" });
    await world.until("pr-1", "Available");
    await world.clock.advance(minute);
    expect(resets(world)).toBe(0);
    expect(world.object("pr-1").status.resetAt).toBe("old");
  });

  it("a reset is carried out once where the answer is lost and the service shows the time of the reset", async () => {
    await using world = new BranchWorld();
    await begun(world);
    world.host.service.setFaults([{ method: "POST", route: "*", kind: "drop-after", count: 1 }]);
    world.mark("pr-1", { resetAt: "1" });
    await world.clock.advance(5 * minute);
    expect(world.reason("pr-1")).toBe("Available");
    expect(resets(world)).toBe(1);
    expect(world.object("pr-1").status.resetAt).toBe("1");
  });

  it("a lost reset is not sent again where no earlier reset shows a time: a new value is", async () => {
    await using world = new BranchWorld();
    await begun(world);
    world.host.service.setFaults([{ method: "POST", route: "*", kind: "drop-before", count: 1 }]);
    world.mark("pr-1", { resetAt: "1" });
    await world.until("pr-1", "Rejected");
    expect(world.ready("pr-1")?.message).toContain("set resetAt to a new value");
    expect(resets(world)).toBe(1);
    world.mark("pr-1", { resetAt: "2" });
    await world.until("pr-1", "Available");
    await world.clock.advance(minute);
    expect(resets(world)).toBe(2);
    expect(world.object("pr-1").status.resetAt).toBe("2");
    // From now on the service shows a time: a request that left no trace is sent again.
    world.host.service.setFaults([{ method: "POST", route: "*", kind: "drop-before", count: 1 }]);
    world.mark("pr-1", { resetAt: "3" });
    await world.clock.advance(5 * minute);
    expect(resets(world)).toBe(4);
    expect(world.object("pr-1").status.resetAt).toBe("3");
  });

  it("a reset is done by the record of an operator that died after it was sent", async () => {
    await using world = new BranchWorld();
    await begun(world);
    world.host.service.setFaults([{ method: "POST", route: "*", kind: "drop-after", count: 1 }]);
    world.mark("pr-1", { resetAt: "1" });
    for (let waited = 0; resets(world) === 0; waited += 100) await world.clock.advance(100);
    await world.restart();
    await world.clock.advance(5 * minute);
    expect(resets(world)).toBe(1);
    expect(world.object("pr-1").status.resetAt).toBe("1");
  });

  it("a reset is refused for protected and adopted branches, and those without a parent", async () => {
    await using world = new BranchWorld();
    await begun(world, { protected: true });
    world.mark("pr-1", { resetAt: "1" });
    await world.until("pr-1", "Protected");
    world.madeElsewhere("theirs");
    world.branch("adopted", { branchName: "theirs", expiry: { never: true }, adopt: { byName: true } });
    await world.until("adopted", "Available");
    world.mark("adopted", { resetAt: "1" });
    await world.until("adopted", "Rejected");
    world.branch("root", { parent: { schemaOnly: true }, expiry: { never: true } });
    await world.until("root", "Available");
    world.mark("root", { resetAt: "1" });
    await world.until("root", "Rejected");
    expect(world.ready("root")?.message).toContain("no parent");
    expect(resets(world)).toBe(0);
  });

  it.each([
    ["its lease is renewed", { lease: "2h" }, undefined],
    ["an expiry that is taken away in time counts", { after: "2h" }, { never: true }],
  ])("a reset that is not carried out ends no branch: %s", async (_, expiry, edited) => {
    await using world = new BranchWorld();
    const id = await begun(world, { expiry });
    world.host.service.setFaults([{ method: "POST", route: "*", kind: "drop-before", count: 1 }]);
    world.mark("pr-1", { resetAt: "1" });
    await world.until("pr-1", "Rejected");
    if (edited !== undefined) world.branch("pr-1", { expiry: edited });
    await world.clock.advance(3 * hour);
    expect(world.made.map((branch) => branch.id)).toEqual([id]);
    expect(world.ready("pr-1")).toMatchObject({ reason: "Rejected", message: expect.stringContaining("new value") });
  });

  it("a reset that the service refuses for good does not stop the renewal of the lease", async () => {
    await using world = new BranchWorld();
    const id = await begun(world, { expiry: { lease: "2h" } });
    const body = '{"code":"","message":"this is not allowed"}';
    world.host.instead = ({ path }) =>
      path.endsWith("/restore") ? { status: 400, headers: { "content-type": "application/json" }, body } : undefined;
    world.mark("pr-1", { resetAt: "1" });
    await world.until("pr-1", "Rejected");
    await world.clock.advance(3 * hour);
    expect(world.made.map((branch) => branch.id)).toEqual([id]);
    expect(world.ready("pr-1")?.message).toContain("this is not allowed");
  });

  it("waits for children to go", async () => {
    await using world = new BranchWorld();
    const id = await begun(world);
    const child = world.madeElsewhere("child", { parent_id: id });
    world.mark("pr-1", { resetAt: "1" });
    await world.until("pr-1", "HasChildren");
    expect(world.ready("pr-1")?.message).toContain("child");
    world.console("DELETE", `/projects/shop/branches/${child.id}`);
    await world.until("pr-1", "Available");
    expect(resets(world)).toBe(1);
  });
});
