import { describe, expect, test } from "vitest";
import { BranchWorld } from "./branch/branches.ts";
import { branch, every, held, hour, isAlive, ofOne, ofTwo, resets, started } from "./support/rotating.ts";
import type { SmallWorld } from "./support/small-world.ts";

const disruption = { windows: [{ from: "20:00", to: "21:00" }] };
const next = (world: SmallWorld) => world.compute(0).status.connectionSecret?.nextRotation;

describe("status.connectionSecret.nextRotation", () => {
  test("follows an edit of the interval, and goes with it", async () => {
    await using world = await started(every(ofTwo, "3h"));
    expect(next(world)).toBe("2026-01-01T03:00:20Z");
    world.edit(0, every(ofTwo, "5h"));
    await world.clock.advance(5000);
    expect(next(world)).toBe("2026-01-01T05:00:20Z");
    world.edit(0, ofTwo);
    await world.clock.advance(5000);
    expect(next(world)).toBeUndefined();
  });

  test("names the first window after the age, and is not written again while the rotation waits for it", async () => {
    await using world = await started({ ...every(ofTwo, "3h"), disruption });
    expect(next(world)).toBe("2026-01-01T20:00:00Z");
    const version = () => world.compute(0).metadata.resourceVersion;
    const before = version();
    await world.clock.advance(19 * hour);
    expect([next(world), version(), resets(world)]).toEqual(["2026-01-01T20:00:00Z", before, []]);
    await world.clock.advance(1.5 * hour);
    expect(resets(world)).toEqual(["app_b"]);
    expect(next(world)).toBe("2026-01-02T20:00:00Z");
  });

  test("names the next window once one was missed, and stands still while paused", async () => {
    await using world = await started({ ...every(ofTwo, "3h"), disruption });
    world.annotate(0, "paused", "true");
    world.annotate(0, "passwordRotationAt", "while paused");
    await world.clock.advance(30 * hour);
    expect([next(world), resets(world)]).toEqual(["2026-01-01T20:00:00Z", []]);
    world.annotate(0, "passwordRotationAt", undefined);
    world.annotate(0, "paused", undefined);
    await world.clock.advance(60_000);
    expect([next(world), resets(world)]).toEqual(["2026-01-02T20:00:00Z", []]);
  });
});

describe("a branch that is reset to its parent at the service", () => {
  test.each([
    ["one role, before the rotation has ended", ofOne, 300],
    ["one role, after it", ofOne, 60_000],
    ["two roles, before the rotation has ended", ofTwo, 300],
    ["two roles, after it", ofTwo, 60_000],
  ] as const)(
    "its Secret holds the other passwords within the hour, and no other rotation follows: %s",
    async (_, given, since) => {
      await using world = await started(ofTwo);
      world.console("PATCH", `/projects/shop/branches/${branch}`, { branch: { protected: true } });
      const created = world.console("POST", "/projects/shop/branches", { branch: { parent_id: branch } });
      const child: string = created.branch.id;
      const roles = `/projects/shop/branches/${child}/roles`;
      await world.clock.advance(30_000);
      world.declare(1, { ...given, branchID: child, connectionSecret: { ...given.connectionSecret, name: "child" } });
      await world.settle(2);
      await world.clock.advance(10_000);
      const isTaken = () => {
        const { role, password } = held(world, 1);
        return world.console("GET", `${roles}/${role}/reveal_password`).password === password;
      };
      world.annotate(1, "passwordRotationAt", "one");
      await world.clock.advance(since);
      world.console("POST", `/projects/shop/branches/${child}/restore`, { source_branch_id: branch });
      // A child of a protected branch gets passwords of its own once more.
      await world.clock.advance(60_000);
      expect(isTaken()).toBe(false);
      await world.clock.advance(hour);
      expect([isTaken(), isAlive(world), resets(world).length]).toEqual([true, true, 1]);
    },
  );
});

test("a reset that resetAt of a Branch asks for has the Secrets of its Computes read at once", async () => {
  await using world = new BranchWorld();
  world.branch("pr-1", { expiry: { never: true } });
  await world.until("pr-1", "Available");
  const id = world.named("default/pr-1")?.id ?? "";
  const roles = `/projects/shop/branches/${id}/roles`;
  const connectionSecret = { name: "shop-db", database: "neondb", role: "neondb_owner" };
  world.declare(0, { projectID: "shop", branchRef: { name: "pr-1" }, connectionSecret });
  await world.settle(1);
  await world.clock.advance(10_000);
  const taken = (): string => world.console("GET", `${roles}/neondb_owner/reveal_password`).password;
  expect(held(world).password).toBe(taken());
  const send = world.network.send.bind(world.network);
  world.network.send = async (request, options) => {
    const answer = await send(request, options);
    // The public service may give the roles other passwords.
    if (request.path.endsWith("/restore")) world.host.service.context.catalog.resetPassword(roleOf(world, id), 0);
    return answer;
  };
  world.mark("pr-1", { resetAt: "1" });
  await world.clock.advance(60_000);
  expect(world.object("pr-1").status.resetAt).toBe("1");
  expect(held(world).password).toBe(taken());
});

function roleOf({ host }: SmallWorld, branchID: string) {
  const role = host.service.context.catalog.role(branchID, "neondb_owner");
  if (role === undefined) throw new Error("no role");
  return role;
}
