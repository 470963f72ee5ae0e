import { describe, expect, test } from "vitest";
import { every, hour, isAlive, ofOne, ofTwo, resets, started } from "./support/rotating.ts";
import type { SmallWorld } from "./support/small-world.ts";

// Somebody with rights to the Secrets of a namespace: what the operator records there is not kept.

const path = "/api/v1/namespaces/default/secrets/shop-db";
const rotatedAt = "compute-operator.dev/password-rotated-at";
const builtFrom = "compute-operator.dev/built-from";
const handledKey = "compute-operator.dev/password-rotation-handled";

interface Stored {
  data: Record<string, string>;
  metadata: { annotations: Record<string, string> };
}

/** Undoes a part of each write to the Secret, as a policy or a tool does; returns the number of writes so far. */
function undoing(world: SmallWorld, undo: (annotations: Record<string, string>, secret: Stored) => void): () => number {
  const handle = world.server.handle.bind(world.server);
  let writes = 0;
  world.server.handle = (request) => {
    const answer = handle(request);
    if (request.method !== "PATCH" || request.path !== path || answer.status >= 300) return answer;
    writes += 1;
    const secret = world.send("GET", path);
    undo(secret.metadata.annotations, secret);
    return handle({ method: "PUT", path, body: secret });
  };
  return () => writes;
}

describe.each([
  ["one role", ofOne, "app_a"],
  ["two roles", ofTwo, "app_b"],
])("with %s", (_, declared, role) => {
  test.each([
    ["takes the handled request away", handledKey, undefined],
    ["puts an earlier handled request back", handledKey, "zero"],
    ["takes the time away", rotatedAt, undefined],
    ["puts an old time back", rotatedAt, "2020-01-01T00:00:00.000Z"],
  ])(
    "a policy that %s at each write has one password changed for one request, and causes no loop",
    async (_what, name, value) => {
      await using world = await started(every(declared, "8760h"));
      const writes = undoing(world, (annotations) => {
        Reflect.deleteProperty(annotations, name);
        if (value !== undefined) annotations[name] = value;
      });
      const before = world.host.calls.length;
      world.annotate(0, "passwordRotationAt", "one");
      await world.clock.advance(600_000);
      expect([resets(world), isAlive(world)]).toEqual([[role], true]);
      expect(writes()).toBeLessThanOrEqual(2);
      expect(world.host.calls.length - before).toBeLessThan(60);
      world.annotate(0, "passwordRotationAt", "two");
      await world.clock.advance(600_000);
      // The value that was carried out last is in the memory of the process, and so is its time.
      expect(resets(world).length).toBeLessThanOrEqual(2);
      expect(isAlive(world)).toBe(true);
      await world.clock.advance(2 * hour);
      expect(resets(world).length).toBeLessThanOrEqual(2);
    },
  );
});

test.each<[string, (secret: Stored) => void]>([
  ["changes the data", ({ data }) => void Object.assign(data, { password: Buffer.from("other").toString("base64") })],
  ["adds data", ({ data }) => void Object.assign(data, { more: "b25l" })],
  ["takes the note of the source away", ({ metadata }) => void Reflect.deleteProperty(metadata.annotations, builtFrom)],
])("a tool that %s after each write costs a repair a minute, and leaves the key to others", async (_, undo) => {
  await using world = await started(ofOne);
  const writes = undoing(world, (__, secret) => undo(secret));
  const before = world.host.calls.length;
  const secret: Stored = world.send("GET", path);
  undo(secret);
  world.send("PUT", path, secret);
  await world.clock.advance(1_800_000);
  // Some at once, and then one a minute.
  expect(writes()).toBeGreaterThan(25);
  expect(writes()).toBeLessThan(45);
  expect(world.host.calls.length - before).toBeLessThan(300);
  expect(resets(world)).toEqual([]);
});
