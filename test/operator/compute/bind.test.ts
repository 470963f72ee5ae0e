import { describe, expect, test } from "vitest";
import { bind } from "../../../src/operator/compute/bind.ts";
import { type Outcome, shown, unchanged } from "../../../src/operator/compute/outcome.ts";
import { endpointAfter } from "../../../src/operator/compute/update-status.ts";
import { ConnectionSecrets } from "../../../src/operator/connection-secret/connection-secret.ts";
import { keptConnectionSecret } from "../../../src/operator/connection-secret/kept-secret.ts";
import type { Compute } from "../../../src/operator/resources/compute.ts";
import type { Secret } from "../../../src/operator/resources/secret.ts";
import { type ComputeFields, compute, endpoint } from "../../support/builders.ts";
import { json, refusal } from "../../support/scripted-service.ts";
import { secretCache } from "../../support/secret-cache.ts";
import { observing } from "./observe/observing.ts";

const secrets = "/api/v1/namespaces/default/secrets";
const host = "ep-one.aws.example.com";
const plain = { connectionSecret: { name: "shop-db" } };
const withDatabase = { connectionSecret: { name: "shop-db", database: "shop", role: "app" } };
const before = { binding: { name: "before" } };
const former = { namespace: "default", name: "before" };
const bound = { namespace: "default", name: "shop-db", uid: expect.any(String) };

/** A Compute with an endpoint, and what binding it comes to after an outcome. */
async function binding(fields: ComputeFields & { unlinked?: boolean } = {}, { awaitsOwner = false } = {}) {
  const one = await observing({ namespace: "default", spec: plain, status: before, ...fields });
  const { reach, clock, access } = one;
  for (const each of reach.endpoints.values()) reach.endpoints.set(each.id, { ...each, host });
  const uri = `postgresql://app:secret@${host}/shop`;
  reach.answer = ({ path }) => (path.endsWith("/connection_uri") ? json(200, { uri }) : undefined);
  const observation = await one.seen();
  reach.sent();
  const stored = (): Secret[] => {
    const { body } = reach.cluster.server.handle({ method: "GET", path: secrets });
    return typeof body === "object" && body !== null && "items" in body && Array.isArray(body.items) ? body.items : [];
  };
  const kept = new ConnectionSecrets({
    cluster: reach.cluster.client(),
    clock,
    signal: new AbortController().signal,
    cache: secretCache(() => stored().map(keptConnectionSecret)),
  });
  const tools = { secrets: kept, awaitsOwner: () => awaitsOwner };
  const turn = { access, memory: one.state };
  const run = (outcome: Outcome) => bind(outcome, endpointAfter(outcome, observation), observation, turn, tools);
  return { ...one, observation, stored, turn, run, tools };
}
const event = { type: "Normal", reason: "Patched", message: "" } as const;
const activeOf = (self: Compute, events: Outcome["events"] = []) =>
  shown(self, "Active", "", { effect: { kind: "settled", drift: [] }, events });

describe("a Compute that has an endpoint", () => {
  test("a Compute is bound to its Secret, and says so where that was written again", async () => {
    const { self, run, stored, reach } = await binding();
    const active = activeOf(self, [event]);
    expect(await run(active)).toMatchObject({ outcome: active, secret: bound, unchecked: false });
    expect(stored()).toHaveLength(1);
    const body = [{ op: "add", path: "/data/own", value: "eA==" }];
    const contentType = "application/json-patch+json";
    reach.cluster.server.handle({ method: "PATCH", path: `${secrets}/shop-db`, body, contentType });
    const { outcome } = await run(active);
    expect(outcome.events).toMatchObject([event, { type: "Warning", reason: "SecretUpdated" }]);
    expect(outcome.condition).toEqual(active.condition);
  });

  test.each<[string, ComputeFields, { awaitsOwner?: boolean }, Partial<Outcome>]>([
    ["is being deleted", { deleting: true }, {}, {}],
    ["is paused", { annotations: { endpointID: "ep-one", paused: "true" } }, {}, {}],
    ["waits for its owner", {}, { awaitsOwner: true }, {}],
    ["was let go", {}, {}, { condition: { kind: "released" } }],
    ["is linked to another Compute's", {}, {}, { effect: { kind: "ownedByOther" } }],
  ])("a Compute that %s is left as it is", async (_, fields, options, more) => {
    const { self, run, stored } = await binding(fields, options);
    const outcome = { ...unchanged(self), ...more };
    expect(await run(outcome)).toEqual({ outcome, secret: former, unchecked: false });
    expect(stored()).toEqual([]);
  });
});

describe("a Compute that was let go", () => {
  test("a Compute that is not the owner of its Secret any more leaves it, and an event names it", async () => {
    const { self, run, reach } = await binding();
    await run(activeOf(self));
    const gone = { ...unchanged(self), condition: { kind: "released" } } as const;
    expect(await run(gone)).toMatchObject({ outcome: gone });
    const body = [{ op: "remove", path: "/metadata/ownerReferences" }];
    const contentType = "application/json-patch+json";
    reach.cluster.server.handle({ method: "PATCH", path: `${secrets}/shop-db`, body, contentType });
    const message =
      "Connection Secret shop-db is kept: the Compute is not its owner any more. Delete it if nothing uses it.";
    expect((await run(gone)).outcome.events).toEqual([{ type: "Warning", reason: "Released", message }]);
  });
});

describe("connection details that cannot be read", () => {
  test("details that cannot be read now, since a write of the Compute waits, are read later", async () => {
    const { self, run, access, lister, session, stored } = await binding({ spec: withDatabase });
    lister.writeLimiter.take("another");
    access.gate.pass("other");
    const busy = shown(self, "Updating", "");
    expect(await run(busy)).toEqual({ outcome: busy, secret: former, unchecked: false });
    const active = activeOf(self);
    expect(await run(active)).toMatchObject({
      outcome: { ...active, condition: { kind: "unchanged" }, requeue: { kind: "enqueued" } },
      secret: former,
      unchecked: false,
    });
    expect([session.budget.closedForMs, stored().length]).toEqual([0, 0]);
  });

  test("a check that is put off is no check: a request for one stays unanswered while a Secret stands", async () => {
    const { self, run, access, lister } = await binding({
      spec: withDatabase,
      annotations: { endpointID: "ep-one", reconcileRequestedAt: "now" },
    });
    const active = activeOf(self);
    expect(await run(active)).toMatchObject({ outcome: active, secret: bound, unchecked: false });
    lister.writeLimiter.take("another");
    access.gate.pass("other");
    const later = { condition: { kind: "unchanged" }, requeue: { kind: "enqueued" } };
    expect(await run(active)).toMatchObject({ outcome: { ...active, ...later }, secret: former, unchecked: true });
  });

  test("unreadable details are reported unless something else is, and answer no request for a refresh while a Secret exists", async () => {
    const { self, run, reach, stored } = await binding({ spec: withDatabase, shows: "Rejected" });
    const [active, busy] = [activeOf(self), shown(self, "Updating", "")];
    const works = reach.answer;
    reach.answer = ({ path }) => (path.endsWith("/connection_uri") ? refusal(404, "role not found") : undefined);
    const failed = { kind: "shown", reason: "Rejected", message: expect.stringContaining("role not found") };
    expect(await run(active)).toMatchObject({
      outcome: { ...active, condition: failed },
      secret: undefined,
      unchecked: false,
    });
    expect(await run(busy)).toEqual({ outcome: busy, secret: undefined, unchecked: false });
    reach.answer = works;
    expect(await run(active)).toMatchObject({ outcome: active, secret: bound, unchecked: false });
    expect(stored()).toHaveLength(1);
    // What was refused is asked for until the service gives it again.
    reach.sent();
    await run(active);
    expect(reach.sent()).toContain("GET connection_uri");
    reach.answer = ({ path }) => (path.endsWith("/connection_uri") ? refusal(404, "role not found") : undefined);
    expect(await run(active)).toMatchObject({
      outcome: { ...active, condition: failed },
      secret: bound,
      unchecked: true,
    });
  });

  test.each([
    ["in its place", "apps", "apps", true],
    ["in another namespace now", "apps", "more", true],
    ["in the own namespace now", "apps", "default", true],
    ["elsewhere now, after one of its own namespace that is gone", "default", "apps", false],
  ])(
    "a Secret elsewhere that no watch shows stays in the status while its successor cannot be written: %s",
    async (_, from, to, isKept) => {
      const known = { namespace: from, name: "shop-db", uid: "uid-of-it" };
      const { self, run, reach } = await binding({
        spec: { connectionSecret: { ...withDatabase.connectionSecret, namespace: to } },
        status: { connectionSecret: known },
      });
      reach.answer = ({ path }) => (path.endsWith("/connection_uri") ? refusal(404, "role not found") : undefined);
      expect(await run(activeOf(self))).toMatchObject({
        outcome: { condition: { reason: "Rejected" } },
        secret: isKept ? known : undefined,
      });
    },
  );

  test("unreadable details are not asked for again while a Secret stands that was not refused", async () => {
    const { self, run, reach } = await binding({ spec: withDatabase });
    await run(activeOf(self));
    reach.sent();
    await run(activeOf(self));
    expect(reach.sent()).toEqual([]);
    const rejected = await binding({ spec: withDatabase, shows: "Rejected" });
    await rejected.run(activeOf(rejected.self));
    rejected.reach.sent();
    await rejected.run(shown(rejected.self, "Updating", ""));
    expect(rejected.reach.sent()).toEqual([]);
  });
});

test("one without an endpoint is bound to nothing new", async () => {
  const { reach, observeNow, turn, clock, tools, stored } = await binding({ unlinked: true });
  reach.endpoints.clear();
  await clock.advance(40_000);
  const outcome = unchanged(compute({ namespace: "default", spec: plain, status: before }));
  const observed = await observeNow(outcome.compute);
  expect(await bind(outcome, endpointAfter(outcome, observed), observed, turn, tools)).toEqual({
    outcome,
    secret: former,
    unchecked: false,
  });
  expect([stored(), endpoint().host]).toEqual([[], undefined]);
});
