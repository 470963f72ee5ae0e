import { describe, expect, test } from "vitest";
import { SmallWorld } from "./support/small-world.ts";

const branch = "br-0-a";
const roles = `/projects/shop/branches/${branch}/roles`;
const hour = 3_600_000;
const connectionSecret = { name: "shop-db", database: "neondb" };
const spec = { projectID: "shop", branchID: branch, scaleToZero: { enabled: false } };
const ofOne = { ...spec, connectionSecret: { ...connectionSecret, role: "app_a" } };
const ofTwo = { ...spec, connectionSecret: { ...connectionSecret, roles: ["app_a", "app_b"] } };
const every = (given: typeof ofOne | typeof ofTwo) => ({
  ...given,
  connectionSecret: { ...given.connectionSecret, rotation: { every: "3h" } },
});

/** A branch with two roles, and a Compute that has settled. */
async function started(given: Parameters<SmallWorld["declare"]>[1]): Promise<SmallWorld> {
  const world = new SmallWorld([branch], 1);
  for (const name of ["app_a", "app_b"]) {
    world.console("POST", roles, { role: { name } });
    await world.clock.advance(10_000);
  }
  world.declare(0, given);
  await world.settle(1);
  await world.clock.advance(10_000);
  return world;
}

function held(world: SmallWorld): { role: string; password: string } {
  const encoded = world.secretsOf(0)[0]?.["data"];
  const data: Record<string, string> = typeof encoded === "object" && encoded !== null ? { ...encoded } : {};
  const text = (key: string) => Buffer.from(data[key] ?? "", "base64").toString();
  return { role: text("username"), password: text("password") };
}

const inForce = (world: SmallWorld, role: string): string =>
  world.console("GET", `${roles}/${role}/reveal_password`).password;

const resets = (world: SmallWorld) =>
  world.writes.filter((write) => write.endsWith("/reset_password")).map((write) => write.split("/").at(-2));

describe("a requested rotation", () => {
  test("with two roles, each rotation resets the role that the Secret does not hold, and the Secret holds that one then", async () => {
    await using world = await started(ofTwo);
    expect(held(world)).toEqual({ role: "app_a", password: inForce(world, "app_a") });
    const kept = held(world).password;
    world.annotate(0, "passwordRotationAt", "one");
    await world.clock.advance(60_000);
    expect(held(world)).toEqual({ role: "app_b", password: inForce(world, "app_b") });
    expect(inForce(world, "app_a")).toBe(kept);
    world.annotate(0, "passwordRotationAt", "two");
    await world.clock.advance(60_000);
    expect(held(world)).toEqual({ role: "app_a", password: inForce(world, "app_a") });
    expect(resets(world)).toEqual(["app_b", "app_a"]);
    expect(world.compute(0).status.connectionSecret).toMatchObject({ role: "app_a" });
    expect(world.events("PasswordRotated")).toEqual([
      'Role "app_b" has a new password, and the connection Secret holds it.',
      'Role "app_a" has a new password, and the connection Secret holds it.',
    ]);
    expect(world.compute(0).status.conditions?.[0]).toMatchObject({ type: "Ready", status: "True" });
  });

  test("with one role, a rotation resets that role once", async () => {
    await using world = await started(ofOne);
    const before = held(world).password;
    world.annotate(0, "passwordRotationAt", "one");
    await world.clock.advance(60_000);
    expect(held(world)).toEqual({ role: "app_a", password: inForce(world, "app_a") });
    expect(held(world).password).not.toBe(before);
    await world.clock.advance(2 * hour);
    expect(resets(world)).toEqual(["app_a"]);
  });
});

describe("a rotation by age", () => {
  test.each([
    ["one role", every(ofOne), ["app_a", "app_a"]],
    ["two roles", every(ofTwo), ["app_b", "app_a"]],
  ])("with %s, a password is changed when it comes of age, and not before", async (_, given, expected) => {
    await using world = await started(given);
    await world.clock.advance(2.9 * hour);
    expect(resets(world)).toEqual([]);
    await world.clock.advance(0.2 * hour);
    expect(resets(world)).toHaveLength(1);
    await world.clock.advance(3.1 * hour);
    expect(resets(world)).toEqual(expected);
    const { role, password } = held(world);
    expect(inForce(world, role)).toBe(password);
  });
});
