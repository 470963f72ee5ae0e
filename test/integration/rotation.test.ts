import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import type { Logger } from "../../src/operator/runtime/log.ts";
import type { Tracer } from "../../src/operator/runtime/tracer.ts";
import { calm } from "../simulation/api-server/faults.ts";
import { manifest } from "./support/manifests.ts";
import {
  branch,
  deadFor,
  every,
  handled,
  held,
  hour,
  inForce,
  isAlive,
  ofOne,
  ofTwo,
  resets,
  roles,
  started,
} from "./support/rotating.ts";

const reset = `/projects/{project_id}/branches/{branch_id}/roles/{role_name}/reset_password`;

describe("a requested rotation", () => {
  test("with two roles, each rotation resets the role that the Secret does not hold, and the Secret holds that one then", async () => {
    await using world = await started(ofTwo);
    expect(held(world)).toEqual({ role: "app_a", password: inForce(world, "app_a") });
    const kept = held(world).password;
    world.annotate(0, "passwordRotationAt", "one");
    expect(await deadFor(world, 60)).toBe(0);
    expect(held(world)).toEqual({ role: "app_b", password: inForce(world, "app_b") });
    expect(inForce(world, "app_a")).toBe(kept);
    world.annotate(0, "passwordRotationAt", "two");
    expect(await deadFor(world, 60)).toBe(0);
    expect(held(world)).toEqual({ role: "app_a", password: inForce(world, "app_a") });
    expect(resets(world)).toEqual(["app_b", "app_a"]);
    expect(world.compute(0).status.connectionSecret).toMatchObject({ role: "app_a" });
    expect(world.events("PasswordRotated")).toEqual([
      'Role "app_b" has a new password, and the connection Secret holds it.',
      'Role "app_a" has a new password, and the connection Secret holds it.',
    ]);
    expect(world.compute(0).status.conditions?.[0]).toMatchObject({ type: "Ready", status: "True" });
  });

  test.each([
    ["of 200 kB", "x".repeat(200_000)],
    ["of several lines", "one\ntwo"],
    ["without text", ""],
  ])("a value %s is one request, carried out once", async (_, value) => {
    await using world = await started(ofTwo);
    world.annotate(0, "passwordRotationAt", value);
    await world.clock.advance(120_000);
    expect([resets(world), held(world).role, isAlive(world)]).toEqual([["app_b"], "app_b", true]);
    world.annotate(0, "passwordRotationAt", `${value}, another`);
    await world.clock.advance(60_000);
    expect(resets(world)).toEqual(["app_b", "app_a"]);
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

  test("a value that was there before the Secret counts as carried out, as in a copied manifest", async () => {
    await using world = await started({ ...ofTwo, connectionSecret: { name: "shop-db" } });
    world.annotate(0, "passwordRotationAt", "copied");
    world.declare(0, ofTwo);
    await world.clock.advance(2 * hour);
    expect([resets(world), handled(world)]).toEqual([[], "copied"]);
  });

  test("a rotation costs one write at the service and two patches, with one reading of the new password more", async () => {
    await using world = await started(ofTwo);
    await world.clock.advance(hour);
    const before = world.writes.length;
    const patches: string[] = [];
    const handle = world.server.handle.bind(world.server);
    world.server.handle = (request) => {
      if (request.method === "PATCH" && /secrets|computes/.test(request.path)) patches.push(request.path);
      return handle(request);
    };
    world.annotate(0, "passwordRotationAt", "one");
    await world.clock.advance(60_000);
    expect(held(world).role).toBe("app_b");
    expect(world.writes.length - before).toBe(1);
    expect(patches.map((path) => path.split("/namespaces/default/")[1])).toEqual([
      "secrets/shop-db",
      "computes/db-0/status",
    ]);
  });

  test("a fleet at rest that rotates is asked for its passwords as often as one that does not, and nothing is written", async () => {
    const asked: number[] = [];
    for (const spec of [ofOne, every(ofOne, "8760h"), every(ofTwo, "8760h")]) {
      await using world = await started(spec);
      await world.clock.advance(2 * hour);
      const [versions, before] = [world.versions, world.host.calls.length];
      await world.clock.advance(4 * hour);
      expect(world.versions).toEqual(versions);
      const calls = world.host.calls.slice(before).filter(({ path }) => !path.endsWith("/endpoints"));
      asked.push(calls.filter(({ path }) => path.endsWith("/connection_uri")).length);
      expect(calls.some(({ method }) => method !== "GET")).toBe(false);
    }
    expect(asked).toEqual([4, 4, 4]);
  });

  test("no password stands in a status, an event, a metric, a log line or a trace", async () => {
    const lines: unknown[] = [];
    const note = (...line: unknown[]) => {
      lines.push(line);
    };
    const log: Logger = { debug: note, info: note, warn: note, error: note, child: () => log };
    const traced: string[] = [];
    const tracer: Tracer = {
      reconcile: async (reconcile, work) => {
        traced.push(JSON.stringify(reconcile));
        const result = await work();
        traced.push(result);
        return result;
      },
      decided: (action) => traced.push(action),
      requested: (request) => traced.push(JSON.stringify(request)),
    };
    await using world = await started(ofTwo, calm, {}, { log, tracer });
    const passwords = new Set<string>();
    for (const value of ["one", "two", "three"]) {
      // A refusal and an answer that never comes are logged too.
      world.host.service.setFaults([
        { kind: "500", method: "POST", route: reset, count: 1 },
        { kind: "drop-after", method: "POST", route: reset, count: 1 },
      ]);
      world.annotate(0, "passwordRotationAt", value);
      await world.clock.advance(60_000);
      for (const role of ["app_a", "app_b"]) passwords.add(inForce(world, role));
    }
    expect(passwords.size).toBeGreaterThan(3);
    const shown = JSON.stringify([
      world.send("GET", "/apis/compute-operator.dev/v1alpha1/namespaces/default/computes"),
      world.send("GET", "/api/v1/namespaces/default/events"),
      await world.metrics(),
      inspect(lines, { depth: 20, maxStringLength: null, maxArrayLength: null }),
      traced,
    ]);
    expect(lines.length).toBeGreaterThan(0);
    expect(traced.join()).toContain("rotate");
    for (const password of passwords) expect(shown).not.toContain(password);
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
    expect(isAlive(world)).toBe(true);
  });

  test("an age waits for a window, and a request does not", async () => {
    const windows = [{ from: "20:00", to: "21:00" }];
    await using world = await started({ ...every(ofTwo), disruption: { windows } });
    const startOfDay = Math.floor(world.clock.now() / (24 * hour)) * 24 * hour;
    const opens = startOfDay + 20 * hour;
    const at = (time: number) => world.clock.advance((time - world.clock.now() + 24 * hour) % (24 * hour));
    await at(opens - 60_000);
    const before = resets(world).length;
    expect(before).toBeLessThanOrEqual(1);
    await world.clock.advance(0.5 * hour);
    expect(resets(world).length).toBe(before + 1);
    await world.clock.advance(5 * hour);
    expect(resets(world).length).toBe(before + 1);
    world.annotate(0, "passwordRotationAt", "now");
    await world.clock.advance(60_000);
    expect(resets(world).length).toBe(before + 2);
  });

  test.each([
    ["was removed", undefined],
    ["is no time", "soon"],
    ["is the last time that there is", "+275760-09-13T00:00:00.000Z"],
  ])("a Secret whose record %s counts as rotated now", async (_, value) => {
    await using world = await started(every(ofTwo));
    await world.clock.advance(2 * hour);
    const path = "/api/v1/namespaces/default/secrets/shop-db";
    const secret = world.send("GET", path);
    const key = "compute-operator.dev/password-rotated-at";
    Reflect.deleteProperty(secret.metadata.annotations, key);
    if (value !== undefined) secret.metadata.annotations[key] = value;
    world.send("PUT", path, secret);
    await world.clock.advance(2.5 * hour);
    expect(resets(world)).toEqual([]);
    await world.clock.advance(hour);
    expect(resets(world)).toEqual(["app_b"]);
  });
});

describe("a reset whose answer is lost", () => {
  test.each([
    ["one role, carried out", ofOne, "drop-after", ["app_a"]],
    ["one role, not carried out", ofOne, "drop-before", ["app_a", "app_a"]],
    ["two roles, carried out", ofTwo, "drop-after", ["app_b", "app_b"]],
    ["two roles, not carried out", ofTwo, "drop-before", ["app_b", "app_b"]],
  ] as const)(
    "with %s, leaves a Secret that works, and is sent again only where that shows nothing",
    async (_, spec, kind, expected) => {
      await using world = await started(spec);
      world.host.service.setFaults([{ kind, method: "POST", route: reset, count: 1 }]);
      world.annotate(0, "passwordRotationAt", "one");
      expect(await deadFor(world, 300)).toBeLessThan(15);
      expect([handled(world), isAlive(world), resets(world)]).toEqual(["one", true, expected]);
    },
  );

  test("a reset that takes effect late is read within minutes", async () => {
    await using world = await started(ofTwo);
    world.host.service.setFaults([{ kind: "drop-before", method: "POST", route: reset, count: 1 }]);
    world.annotate(0, "passwordRotationAt", "one");
    await world.clock.advance(40_000);
    expect(held(world).role).toBe("app_b");
    world.console("POST", `${roles}/app_b/reset_password`);
    expect(isAlive(world)).toBe(false);
    await world.clock.advance(400_000);
    expect(isAlive(world)).toBe(true);
    expect(held(world).role).toBe("app_b");
  });
});

describe("a role that cannot be reset", () => {
  test("a role that is gone is reported, its partner stays in the Secret, and the rotation follows once it is back", async () => {
    await using world = await started(ofTwo);
    world.console("DELETE", `${roles}/app_b`);
    await world.clock.advance(10_000);
    world.annotate(0, "passwordRotationAt", "one");
    await world.clock.advance(60_000);
    const [ready] = world.compute(0).status.conditions ?? [];
    expect(ready).toMatchObject({ status: "False", reason: "Rejected" });
    expect(ready?.message).toContain("role not found");
    expect([held(world).role, isAlive(world)]).toEqual(["app_a", true]);
    world.console("POST", roles, { role: { name: "app_b" } });
    await world.clock.advance(2 * hour);
    expect([held(world).role, isAlive(world), handled(world)]).toEqual(["app_b", true, "one"]);
  });

  test("a role that is gone from the Secret is replaced by its partner at the next rotation", async () => {
    await using world = await started(ofTwo);
    world.console("DELETE", `${roles}/app_a`);
    await world.clock.advance(10_000);
    world.annotate(0, "passwordRotationAt", "one");
    await world.clock.advance(60_000);
    expect([held(world).role, isAlive(world)]).toEqual(["app_b", true]);
  });

  test.each([
    ["two roles", ofTwo, ["app_b", "app_b"]],
    ["one role", ofOne, ["app_a", "app_a"]],
  ] as const)(
    "a reset whose operation fails brings no password into the Secret, and is sent again minutes later: %s",
    async (_, declared, sent) => {
      await using world = await started(declared);
      const before = held(world);
      world.host.service.setFaults([{ kind: "fail-operations", method: "POST", route: reset, count: 1 }]);
      world.annotate(0, "passwordRotationAt", "one");
      await world.clock.advance(60_000);
      expect([held(world), resets(world), world.events("PasswordRotated")]).toEqual([before, sent.slice(1), []]);
      await world.clock.advance(600_000);
      expect([isAlive(world), handled(world), resets(world)]).toEqual([true, "one", sent]);
      expect(held(world).password).not.toBe(before.password);
    },
  );

  test("a busy project delays a rotation, and the Secret works meanwhile", async () => {
    await using world = await started(ofTwo);
    world.host.service.setFaults([{ kind: "423", method: "POST", route: reset, count: 3 }]);
    world.annotate(0, "passwordRotationAt", "one");
    expect(await deadFor(world, 300)).toBe(0);
    expect([held(world).role, handled(world)]).toEqual(["app_b", "one"]);
  });
});

describe("several Computes", () => {
  test("a replica whose Secret holds the same role follows within seconds", async () => {
    await using world = await started(ofOne);
    world.declare(1, { ...ofOne, type: "read_only", connectionSecret: { ...ofOne.connectionSecret, name: "replica" } });
    await world.settle(2);
    world.annotate(0, "passwordRotationAt", "one");
    await world.clock.advance(20_000);
    expect([isAlive(world, 0), isAlive(world, 1)]).toEqual([true, true]);
    expect(held(world, 1).password).toBe(held(world, 0).password);
  });

  test("a Compute that only observes holds the role that the rotating one holds, in another order of roles too", async () => {
    await using world = await started(ofTwo);
    world.annotate(0, "passwordRotationAt", "one");
    await world.clock.advance(20_000);
    const connectionSecret = { ...ofTwo.connectionSecret, name: "observer", roles: ["app_a", "app_b"] };
    const observer = { ...ofTwo, managementPolicy: "Observe", adopt: { branchPrimary: true } } as const;
    world.declare(1, { ...observer, connectionSecret });
    await world.settle(2);
    expect(held(world, 1)).toEqual(held(world, 0));
    expect(held(world, 1).role).toBe("app_b");
    world.declare(2, {
      ...observer,
      connectionSecret: { ...connectionSecret, name: "turned", roles: ["app_b", "app_a"] },
    });
    world.annotate(0, "passwordRotationAt", "two");
    await world.clock.advance(20_000);
    expect(held(world, 0)).toEqual({ role: "app_a", password: inForce(world, "app_a") });
    expect([held(world, 1), held(world, 2)]).toEqual([held(world, 0), held(world, 0)]);
    world.annotate(1, "passwordRotationAt", "of the observer");
    await world.clock.advance(2 * hour);
    expect(resets(world)).toEqual(["app_b", "app_a"]);
  });

  test("a copied Compute, with its annotations, rotates nothing", async () => {
    await using world = await started(ofTwo);
    const { endpointID } = world.compute(0).status;
    const copy = manifest("db-1", { ...ofTwo, connectionSecret: { ...ofTwo.connectionSecret, name: "copy" } });
    const annotations = {
      "compute-operator.dev/endpoint-id": endpointID,
      "compute-operator.dev/passwordRotationAt": "x",
    };
    world.send("POST", "/apis/compute-operator.dev/v1alpha1/namespaces/default/computes", {
      ...copy,
      metadata: { ...copy.metadata, annotations },
    });
    await world.clock.advance(60_000);
    world.annotate(1, "passwordRotationAt", "y");
    await world.clock.advance(2 * hour);
    expect(resets(world)).toEqual([]);
    expect(isAlive(world)).toBe(true);
  });
});

test("a child of a protected branch has passwords of its own: its Secret holds them, and a rotation leaves the parent's", async () => {
  await using world = await started(ofTwo);
  const ofParent = held(world);
  world.console("PATCH", `/projects/shop/branches/${branch}`, { branch: { protected: true } });
  const child: string = world.console("POST", "/projects/shop/branches", { branch: { parent_id: branch } }).branch.id;
  await world.clock.advance(30_000);
  const taken = (role: string): string =>
    world.console("GET", `/projects/shop/branches/${child}/roles/${role}/reveal_password`).password;
  expect(taken("app_a")).not.toBe(ofParent.password);
  world.declare(1, { ...ofTwo, branchID: child, connectionSecret: { ...ofTwo.connectionSecret, name: "child" } });
  await world.settle(2);
  await world.clock.advance(10_000);
  expect(held(world, 1)).toEqual({ role: "app_a", password: taken("app_a") });
  const before = taken("app_b");
  world.annotate(1, "passwordRotationAt", "one");
  await world.clock.advance(60_000);
  expect(held(world, 1)).toEqual({ role: "app_b", password: taken("app_b") });
  expect(taken("app_b")).not.toBe(before);
  expect([held(world), isAlive(world), resets(world)]).toEqual([ofParent, true, ["app_b"]]);
});

test("a Secret that another process has rotated is not rotated again by one whose cache is old", async () => {
  let isLate = false;
  const world = await started(ofTwo, {
    ...calm,
    line: (path) => ({ kind: "delivered", delayMs: isLate && path.includes("secrets") ? 300_000 : 0 }),
  });
  await using _ = world;
  isLate = true;
  const path = "/api/v1/namespaces/default/secrets/shop-db";
  const secret = world.send("GET", path);
  secret.metadata.annotations["compute-operator.dev/password-rotation-handled"] = "one";
  world.send("PUT", path, secret);
  world.annotate(0, "passwordRotationAt", "one");
  await world.clock.advance(200_000);
  expect(resets(world)).toEqual([]);
});

test("a branch whose passwords change is followed by the Secret, and its record says when", async () => {
  await using world = await started(ofTwo);
  const before = world.compute(0).status.connectionSecret?.rotatedAt;
  await world.clock.advance(60_000);
  world.console("POST", `/projects/shop/branches/${branch}/roles/app_a/reset_password`);
  await world.clock.advance(hour + 60_000);
  expect([held(world).role, isAlive(world)]).toEqual(["app_a", true]);
  expect(world.compute(0).status.connectionSecret?.rotatedAt).not.toBe(before);
});
