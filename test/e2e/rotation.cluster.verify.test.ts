import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import { type Login, loginsOf, RotatingWorld, type Step } from "./rotating-world.ts";

// The operator as a process, a real control plane, real Postgres behind the service, and clients that log in.

let world: RotatingWorld;
beforeAll(async () => {
  world = await RotatingWorld.start();
});
afterAll(() => world?.[Symbol.asyncDispose]());

const isReset = { method: "POST", path: /\/reset_password$/ };
const ofSecret = { method: "PATCH", path: /\/secrets\/shop-db/ };
const ofStatus = { method: "PATCH", path: /\/computes\/shop\/status/ };

/** The steps of a rotation in which the operator dies. `passes`: the request takes effect all the same. */
const steps: readonly (Step & { name: string })[] = [
  { name: "before the reset is sent", at: "service", ...isReset, passes: false },
  { name: "before the reset is answered", at: "service", ...isReset, passes: true },
  { name: "while the operations of the reset run", at: "service", method: "GET", path: /\/operations/, passes: true },
  { name: "before the new password is read", at: "service", method: "GET", path: /\/connection_uri/, passes: true },
  { name: "before the Secret is written", at: "cluster", ...ofSecret, passes: false },
  { name: "before the write of the Secret is answered", at: "cluster", ...ofSecret, passes: true },
  { name: "before the status is written", at: "cluster", ...ofStatus, passes: false },
  { name: "before the write of the status is answered", at: "cluster", ...ofStatus, passes: true },
];

describe.each([
  ["two roles", { roles: ["app_a", "app_b"] }],
  ["one role", { role: "app_a" }],
])("an operator with %s that is killed in a rotation", (_, named) => {
  const hasTwo = "roles" in named;
  beforeAll(async () => {
    await world.declare({ name: "shop-db", database: "stock", ...named });
    await eventually("a login that works", async () => (await world.canLogIn(await world.held())) || undefined);
  });

  it.each(steps)("goes on with it and leaves a login that works: $name", async ({ name, ...step }) => {
    const before = await world.held();
    const sent = world.resets.length;
    const given: Login[] = [before];
    using clients = loginsOf(world, given);
    await world.killedAt(step, () => world.request(name));
    // Of two roles the Secret's works at any time; of one it is dead until another process has read it.
    expect(!hasTwo || (await world.canLogIn(await world.held()))).toBe(true);
    await sleep(1000);
    await world.operator.start();
    await eventually("the end of the rotation", async () => ((await world.handled()) === name ? true : undefined));
    await world.ready();
    const after = await world.held();
    given.push(after);
    expect(await world.canLogIn(after)).toBe(true);
    expect(after.password).not.toBe(before.password);
    const resets = world.resets.slice(sent);
    expect(resets.length).toBeLessThanOrEqual(2);
    expect(new Set(resets)).toEqual(new Set([hasTwo ? other(before.username) : before.username]));
    expect(after.username).toBe(hasTwo ? other(before.username) : before.username);
    expect(await world.status()).toMatchObject({ role: after.username });
    await clients.stop();
    // A client that keeps the login of before goes on with two roles, and its own session is cut at most.
    expect(await world.canLogIn(before)).toBe(hasTwo);
    expect(hasTwo ? clients.refused : []).toEqual([]);
  });
});

const other = (role: string) => (role === "app_a" ? "app_b" : "app_a");

it("no password that ever lived stands in a log, an event, a status, a metric or a trace", async () => {
  const shown = await world.shown();
  expect(shown).toContain("PasswordRotated");
  expect(shown).toContain("compute_operator_reconcile_total");
  expect(shown).toContain("resourceSpans");
  expect(world.passwords.size).toBeGreaterThan(15);
  for (const password of world.passwords) {
    expect(shown).not.toContain(password);
    expect(shown).not.toContain(Buffer.from(password).toString("base64"));
  }
});
