import { describe, expect, it } from "vitest";
import { BranchWorld, hour } from "./branches.ts";

const name = "default/pr-1";

/** The ends that PATCH requests have asked for so far. */
function asked(world: BranchWorld): unknown[] {
  return world.host.calls
    .filter(({ method }) => method === "PATCH")
    .map(({ body }) => Object(Object(body).branch).expires_at);
}

/** The service takes up a request that got no answer. */
function lands(world: BranchWorld, end: unknown): void {
  world.console("PATCH", `/projects/shop/branches/${world.named(name)?.id}`, { branch: { expires_at: end } });
}

async function begun(): Promise<BranchWorld> {
  const world = new BranchWorld();
  world.branch("pr-1", { expiry: { after: "2h" } });
  await world.until("pr-1", "Available");
  return world;
}

describe("an end whose request got no answer", () => {
  it("an end whose request got no answer is sent again as it was, so it is all one which request lands last", async () => {
    await using world = await begun();
    world.host.service.setFaults([{ method: "PATCH", route: "*", kind: "drop-before", count: 3 }]);
    world.branch("pr-1", { expiry: { after: "3h" } });
    await world.until("pr-1", "ServiceUnavailable");
    await world.until("pr-1", "Available");
    expect(asked(world)).toHaveLength(4);
    expect(new Set(asked(world)).size).toBe(1);
    expect(world.object("pr-1").status.appliedExpiry).toBe("after 3h");
  });

  it("an end whose request got no answer, and that has passed meanwhile, is counted from now", async () => {
    await using world = await begun();
    world.host.service.setFaults([{ method: "PATCH", route: "*", kind: "drop-before", rate: 1 }]);
    world.branch("pr-1", { expiry: { after: "5m" } });
    await world.clock.advance(10 * 60_000);
    world.host.service.setFaults([]);
    await world.until("pr-1", "Available");
    expect(world.msUntil(world.named(name)?.expires_at)).toBeGreaterThan(3 * 60_000);
  });

  it("an end of an earlier expiry that lands late is written over, and is no person's decision", async () => {
    await using world = await begun();
    world.host.service.setFaults([{ method: "PATCH", route: "*", kind: "drop-before", count: 1 }]);
    world.branch("pr-1", { expiry: { after: "3h" } });
    await world.until("pr-1", "ServiceUnavailable");
    world.branch("pr-1", { expiry: { never: true } });
    await world.until("pr-1", "Available");
    expect(world.named(name)?.expires_at).toBeUndefined();
    const [late] = asked(world);
    lands(world, late);
    await world.clock.advance(40_000);
    expect(world.named(name)?.expires_at).toBeUndefined();
    expect(world.reason("pr-1")).toBe("Available");
    expect(asked(world)).toEqual([late, null, null]);
    // Once no request can land any more, the same end is a person's.
    await world.clock.advance(hour / 2);
    lands(world, late);
    await world.until("pr-1", "Drifted");
    expect(asked(world)).toHaveLength(3);
  });

  it("an end that a process sent before it died is known as the operator's own when it lands late", async () => {
    await using world = await begun();
    world.host.service.setFaults([{ method: "PATCH", route: "*", kind: "drop-before", count: 1 }]);
    world.branch("pr-1", { expiry: { after: "3h" } });
    await world.until("pr-1", "ServiceUnavailable");
    await world.restart();
    await world.clock.advance(20_000);
    await world.until("pr-1", "Available");
    const [late, applied] = asked(world);
    expect(late).not.toBe(applied);
    lands(world, late);
    await world.clock.advance(40_000);
    expect(world.named(name)?.expires_at).toBe(late);
    expect(world.reason("pr-1")).toBe("Available");
    lands(world, new Date(Date.parse(String(late)) - 120_000).toISOString());
    await world.until("pr-1", "Drifted");
  });
});
