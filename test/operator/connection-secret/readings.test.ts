import { describe, expect, test } from "vitest";
import { Readings } from "../../../src/operator/connection-secret/readings.ts";
import { compute, endpoint, uidOf } from "../../support/builders.ts";
import { json, refusal } from "../../support/scripted-service.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";
import { bound, host, self, setUp, withDatabase } from "./keeping.ts";

const hour = 3_600_000;
const { uid } = self.metadata;
const requested = compute({
  namespace: "default",
  spec: withDatabase,
  annotations: { reconcileRequestedAt: "now" },
});

describe("a connection Secret's password is asked for", () => {
  test("a password is asked for first within the second half of an hour, at a time of the Compute's own", () => {
    const clock = new VirtualClock();
    const now = clock.monotonic();
    const readings = new Readings(clock);
    const due = Array.from({ length: 8 }, (_, one) => {
      expect(readings.isDue(uidOf(one))).toBe(false);
      return readings.nextAt(uidOf(one), now) ?? 0;
    });
    expect(new Set(due).size).toBe(due.length);
    expect(Math.min(...due)).toBeGreaterThanOrEqual(now + hour / 2);
    expect(Math.max(...due)).toBeLessThan(now + hour);
  });

  test("a password is asked for hourly then, and no more often", async () => {
    const { keep, service, cluster, dueAt } = setUp();
    await keep(self);
    const asked = service.requests.length;
    await cluster.clock.advance(hour);
    expect(await keep(self)).toEqual(bound);
    expect(service.requests).toHaveLength(asked + 1);
    expect(dueAt()).toBe(2 * hour);
    await cluster.clock.advance(hour - 1);
    await keep(self);
    expect(service.requests).toHaveLength(asked + 1);
  });

  test("a new password is written with an event that names the role", async () => {
    const { keep, service, cluster, read } = setUp();
    await keep(self);
    await cluster.clock.advance(hour);
    service.script = () => json(200, { uri: "postgresql://app:new@ep-one.aws.example.com/shop" });
    expect(await keep(self)).toEqual({
      ...bound,
      event: {
        type: "Normal",
        reason: "SecretUpdated",
        message:
          'The password of role "app" changed at the service, and Secret "shop-db" holds the new one. Restart the applications that use the old one.',
      },
    });
    expect(read()).toMatchObject({ password: "new" });
  });

  test("a password is never asked for without a database: nothing of it can change", async () => {
    const { keep, dueAt } = setUp();
    await keep(self);
    expect(dueAt()).toBeDefined();
    await keep(compute({ namespace: "default", spec: { connectionSecret: { name: "shop-db" } } }));
    expect(dueAt()).toBeUndefined();
  });
});

test("a reading that falls due while its Compute is reconciled is made after that", async () => {
  const { keep, kept, cluster, service } = setUp();
  await keep(self);
  await cluster.clock.advance(hour);
  await keep(self);
  await cluster.clock.advance(hour - 1);
  const [begun, asked] = [cluster.clock.monotonic(), service.requests.length];
  await keep(self);
  await cluster.clock.advance(2);
  expect([service.requests.length, kept.readingDueAt(uid, begun)]).toEqual([asked, 2 * hour]);
});

test("a reading that is overdue asks for no time of its own, nor does one of a Compute that is gone", async () => {
  const { keep, kept, dueAt, cluster } = setUp();
  await keep(self);
  await cluster.clock.advance(hour);
  expect(dueAt()).toBeUndefined();
  await keep(self);
  expect(dueAt()).toBe(2 * hour);
  kept.forget(uid);
  expect(dueAt()).toBeUndefined();
});

describe("a reading that cannot be made now", () => {
  const due = async () => {
    const one = setUp();
    await one.keep(self);
    await one.cluster.clock.advance(hour);
    return one;
  };

  test("a reading that waits for the budget keeps the Secret as it stands, and is made five minutes later", async () => {
    const { keep, state, dueAt } = await due();
    state.affordable = false;
    expect(await keep(self)).toEqual(bound);
    expect(dueAt()).toBe(hour + 300_000);
  });

  test("a reading that the service fails keeps the Secret as it stands, and is made five minutes later", async () => {
    const { keep, service, dueAt } = await due();
    service.script = () => refusal(503);
    expect(await keep(self)).toEqual(bound);
    expect(dueAt()).toBe(hour + 300_000);
  });

  test("a reading that a person requested, or that ends a refusal, waits for the budget and leaves the hour as it is", async () => {
    const { keep, state, dueAt } = setUp();
    await keep(self);
    const before = dueAt();
    state.affordable = false;
    expect(await keep(requested)).toEqual({ kind: "later" });
    state.wasRejected = true;
    expect(await keep(self)).toEqual({ kind: "later" });
    expect(dueAt()).toBe(before);
  });

  test("a reading that a person requested, or for a Secret that is not intact, is reported", async () => {
    const { keep, service, change } = setUp();
    await keep(self);
    service.script = () => refusal(503);
    const failed = { kind: "unread", failure: { kind: "unavailable" } };
    expect(await keep(requested)).toMatchObject(failed);
    expect(await keep(self)).toEqual(bound);
    change([{ op: "remove", path: "/data/password" }]);
    expect(await keep(self)).toMatchObject(failed);
  });

  test("a reading that cannot be made whole, since the service fails to give the pooled URI, writes nothing", async () => {
    const { keep, service, stored } = setUp();
    const uri = "postgresql://app:x@ep-one.aws.example.com/shop";
    service.script = ({ query }) => (query?.pooled === "true" ? refusal(503) : json(200, { uri }));
    expect(await keep(self)).toMatchObject({ kind: "unread", failure: { kind: "unavailable" } });
    expect(stored()).toEqual([]);
  });

  const long = `postgresql://app:x@ep-one.aws.example.com/shop?${"x".repeat(16_384)}`;
  test.each([
    ["no URI", () => "no URI"],
    ["a URI that is too long", () => long],
    ["a pooled URI that is too long", (pooled?: string) => (pooled === "true" ? long : "postgresql://app:x@one/shop")],
  ])("a reading that gives %s says so, and writes nothing", async (_, uriOf) => {
    const { keep, service, stored } = setUp();
    service.script = ({ query }) => json(200, { uri: uriOf(query?.pooled) });
    expect(await keep(self)).toEqual({
      kind: "unread",
      failure: { kind: "unavailable", message: "it returned a connection URI that cannot be read" },
      doing: 'return the connection details for Secret "shop-db"',
    });
    expect(stored()).toEqual([]);
  });
});

test("a URI that names the endpoint's host with a port gives the port of the Secret", async () => {
  const { keep, read, service } = setUp();
  service.script = () => json(200, { uri: `postgresql://app:x@${host}:6543/shop?sslmode=require` });
  expect(await keep(self)).toEqual(bound);
  expect(read()).toMatchObject({ host, port: "6543" });
});

describe("a URI whose options name the endpoint", () => {
  const direct = "postgresql://app:x@127.0.0.1:6543/shop?options=endpoint%3Dep-one";

  test.each([
    ["its own", "postgresql://app:x@127.0.0.1:6543/shop?options=endpoint%3Dpooled", "endpoint=pooled"],
    ["those of the direct one where it has none", "postgresql://app:x@127.0.0.1:6543/shop", "endpoint=ep-one"],
    ["those of the direct one where it cannot be read", "no URI", "endpoint=ep-one"],
  ])("a URI whose options name the endpoint is held beside the pooled one with %s", async (_, pooled, options) => {
    const { keep, read, service } = setUp();
    service.script = ({ query }) => json(200, { uri: query?.pooled === "true" ? pooled : direct });
    expect(await keep(self)).toEqual(bound);
    expect(read()).toEqual({
      type: "postgresql",
      "endpoint-id": "ep-one",
      username: "app",
      password: "x",
      database: "shop",
      uri: direct,
      "pooled-uri": pooled,
      host: "127.0.0.1",
      "pooled-host": "127.0.0.1",
      port: "6543",
      options: "endpoint=ep-one",
      "pooled-options": options,
    });
  });

  test("a URI is read of the endpoint that is linked", async () => {
    const { keep, service } = setUp();
    await keep(self, endpoint({ host }));
    expect(service.requests[0]?.query).toEqual({
      database_name: "shop",
      role_name: "app",
      endpoint_id: "ep-one",
      pooled: "false",
    });
  });
});
