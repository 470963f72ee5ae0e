import { describe, expect, test } from "vitest";
import { plan } from "../../../../src/operator/compute/plan/plan.ts";
import {
  type ComputeFields,
  compute,
  endpoint,
  input,
  madeBy,
  now,
  openSince,
  proofFor,
  uidOf,
} from "../../../support/builders.ts";

const going = (fields: ComputeFields = {}) => compute({ deleting: true, ...fields });
const mine = going({ linked: "ep-one" });
const released = (text: string) => ({ kind: "release", event: "Released", message: expect.stringContaining(text) });

describe("a Compute that is being deleted", () => {
  test("a Compute without our finalizer is left alone: it owned nothing", () => {
    const self = going({ linked: "ep-one", guarded: false });
    expect(plan(...input({ compute: self, endpoints: [madeBy(self)] }))).toEqual({ kind: "noop" });
  });

  test.each([
    ["the signature", mine, madeBy(mine)],
    [
      "its status",
      going({ linked: "ep-one", status: { endpointID: "ep-one", proof: proofFor("ep-one") } }),
      endpoint(),
    ],
  ])("a deleted Compute has the endpoint deleted that is its own by %s", (_, self, seen) => {
    expect(plan(...input({ compute: self, endpoints: [seen] }))).toEqual({
      kind: "delete",
      endpointID: "ep-one",
      why: "deleted",
    });
  });

  test("an own endpoint is deleted by its signature, though the status says that it was adopted", () => {
    const self = going({ linked: "ep-one", status: { endpointID: "ep-one", proof: proofFor("ep-one", "adopted") } });
    expect(plan(...input({ compute: self, endpoints: [madeBy(self)] }))).toMatchObject({ kind: "delete" });
  });

  test("a kept endpoint is let go only once nothing of an open create can come to be", () => {
    const self = going({ linked: "ep-one", spec: { adopt: { endpointID: "ep-one" } } });
    const keeping = (write: ReturnType<typeof openSince>) =>
      plan(...input({ compute: self, endpoints: [endpoint()], state: { write } }));
    expect(keeping(openSince(now))).toMatchObject({ kind: "wait", reason: "CreateUnknown" });
    expect(keeping({ ...openSince(now), phase: "closed" })).toMatchObject(released("adopted"));
  });

  test("lets an endpoint go that only an annotation links: copied, restored, or typed by hand", () => {
    const self = going({ linked: "ep-victim" });
    const victim = endpoint({ id: "ep-victim", name: "somebody's" });
    const how = released("To have it deleted, adopt it in a Compute with spec.adopt.endpointID");
    expect(plan(...input({ compute: self, endpoints: [victim] }))).toMatchObject(how);
  });

  test("lets an endpoint go that is another living Compute's", () => {
    const maker = compute({ uid: uidOf("b"), name: "maker", linked: "ep-one" });
    const others = { endpoints: [madeBy(maker)], others: [maker] };
    expect(plan(...input({ compute: mine, ...others }))).toMatchObject(released("belongs to Compute team/maker"));
  });

  test("lets an endpoint go that carries the signature of a Compute that is gone, until it is adopted", () => {
    const former = madeBy(compute({ uid: uidOf("z") }));
    expect(plan(...input({ compute: mine, endpoints: [former] }))).toMatchObject(released("only an annotation"));
  });

  test("names its endpoint as the service writes it, in capitals too", () => {
    const self = going({ linked: "ep-One", annotations: { paused: "true" } });
    expect(plan(...input({ compute: self, endpoints: [] }))).toMatchObject({
      message: expect.stringContaining("Remove it to have endpoint ep-One deleted"),
    });
  });

  test("a Compute with deletionPolicy Retain is let go at once, whatever can be seen", () => {
    const self = going({
      linked: "ep-one",
      spec: { deletionPolicy: "Retain" },
      annotations: { endpointID: "ep-one", paused: "true" },
    });
    const blocked = { kind: "unavailable", reason: "Unauthorized", message: "no", projectGone: false } as const;
    for (const fields of [
      { endpoints: [madeBy(self)] },
      { observation: { kind: "pending" } as const },
      { observation: blocked },
    ]) {
      expect(plan(...input({ compute: self, ...fields }))).toMatchObject(released("Endpoint ep-one is kept"));
    }
  });

  test("waits while paused, and says what would go on", () => {
    const self = going({ linked: "ep-one", annotations: { endpointID: "ep-one", paused: "true" } });
    expect(plan(...input({ compute: self, endpoints: [madeBy(self)] }))).toMatchObject({
      kind: "wait",
      reason: "Paused",
      message: expect.stringMatching(/ep-one.*deletionPolicy to Retain/),
    });
  });

  test.each(["Unauthorized", "Forbidden", "ConnectionNotFound", "ProjectNotFound", "ServiceUnavailable"] as const)(
    "a deletion waits while it is blocked by %s: names the endpoint and the way out, and takes nothing for gone",
    (reason) => {
      const observation = { kind: "unavailable", reason, message: "Why.", projectGone: false } as const;
      expect(
        plan(
          ...input({
            compute: mine,
            observation,
            state: { missing: { id: "ep-one", since: 0, proved: true } },
          }),
        ),
      ).toMatchObject({
        kind: "wait",
        reason,
        message: expect.stringMatching(/ep-one.*Why\..*deletionPolicy to Retain/),
      });
    },
  );

  test("a Compute is let go where its whole project is proved to be gone", () => {
    const observation = {
      kind: "unavailable",
      reason: "ProjectNotFound",
      message: "",
      projectGone: true,
      fingerprint: "here",
    } as const;
    expect(plan(...input({ compute: mine, observation }))).toMatchObject(released("no longer exists"));
    const elsewhere = { ...observation, fingerprint: "there" };
    expect(plan(...input({ compute: going(), observation: elsewhere }))).toMatchObject(released("no longer exists"));
  });

  test.each([
    ["endpoint was last seen", mine, {}],
    ["create was sent", going(), { write: openSince(now, { through: "https://other/api/v2" }) }],
  ])(
    "a deletion waits where its project is gone for another base URL or key than its %s through, until that is confirmed",
    (_, self, state) => {
      const observation = {
        kind: "unavailable",
        reason: "ProjectNotFound",
        message: "",
        projectGone: true,
        fingerprint: "there",
      } as const;
      const waits = { kind: "wait", reason: "MassLoss", message: expect.stringContaining("confirmLoss") };
      expect(plan(...input({ compute: self, observation, state }))).toMatchObject(waits);
      const { metadata } = self;
      const asked = { ...metadata.annotations, "compute-operator.dev/confirmLoss": "now" };
      const early = { ...self, metadata: { ...metadata, annotations: asked } };
      expect(plan(...input({ compute: early, observation, state }))).toMatchObject(waits);
      const conditions = [
        { type: "Ready", status: "False", reason: "MassLoss", message: "", lastTransitionTime: "2026-01-01T00:00:00Z" },
      ];
      const confirmed = { ...early, status: { ...early.status, conditions } };
      expect(plan(...input({ compute: confirmed, observation, state }))).toMatchObject(released("no longer exists"));
    },
  );

  test("a Compute that never had an endpoint is let go", () => {
    expect(plan(...input({ compute: going() }))).toMatchObject(released("No endpoint was ever created"));
    expect(plan(...input({ compute: going(), endpoints: [endpoint()] }))).toMatchObject(released("No endpoint"));
  });

  test("a deleted Compute has both endpoints of a doubled create deleted, one by one", () => {
    const endpoints = [madeBy(mine), madeBy(mine, { id: "ep-two" })];
    expect(plan(...input({ compute: mine, endpoints }))).toMatchObject({ kind: "delete", endpointID: "ep-two" });
    expect(plan(...input({ compute: mine, endpoints: endpoints.slice(0, 1) }))).toMatchObject({ endpointID: "ep-one" });
  });
});

describe("after the DELETE", () => {
  const answered = (agoMs: number, before = 0, proved = false) => ({
    deletes: new Map([["ep-one", { at: now - agoMs, before, accepted: true, proved, shown: 0 }]]),
  });

  test("a DELETE is not sent again while lists lag behind, but once more where it was not carried out", () => {
    const endpoints = [madeBy(mine)];
    expect(plan(...input({ compute: mine, endpoints, state: answered(1000) }))).toMatchObject({ reason: "Deleting" });
    expect(plan(...input({ compute: mine, endpoints, state: answered(30_000) }))).toMatchObject({ kind: "delete" });
  });

  test("a DELETE is sent ever more rarely to a service that lists the endpoint still, and the Compute says so", () => {
    const endpoints = [madeBy(mine)];
    const reported = { reason: "Deleting", message: expect.stringMatching(/still lists endpoint ep-one.*Retain/) };
    expect(plan(...input({ compute: mine, endpoints, state: answered(59_000, 1) }))).toMatchObject(reported);
    expect(plan(...input({ compute: mine, endpoints, state: answered(60_000, 1) }))).toMatchObject({ kind: "delete" });
    expect(plan(...input({ compute: mine, endpoints, state: answered(3_599_000, 60) }))).toMatchObject(reported);
    expect(plan(...input({ compute: mine, endpoints, state: answered(3_600_000, 60) }))).toMatchObject({
      kind: "delete",
    });
  });

  test("the DELETE of a duplicate that is still listed is followed by the linked endpoint's, and neither is forgotten", () => {
    const endpoints = [madeBy(mine), madeBy(mine, { id: "ep-two" })];
    const extra = { at: now - 1000, before: 0, accepted: false, proved: false, shown: 0 };
    const state = { deletes: new Map([["ep-two", extra]]) };
    expect(plan(...input({ compute: mine, endpoints, state }))).toMatchObject({ kind: "delete", endpointID: "ep-one" });
    const left = endpoints.slice(1);
    expect(plan(...input({ compute: mine, endpoints: left, state }))).toMatchObject({
      kind: "wait",
      reason: "Deleting",
    });
  });

  test("a DELETE is proved by the endpoint's own GET, and then the Compute goes", () => {
    expect(plan(...input({ compute: mine, state: answered(1000) }))).toEqual({
      kind: "confirmDeletion",
      endpointID: "ep-one",
      after: "deleted",
    });
    expect(plan(...input({ compute: mine, state: answered(1000, 0, true) }))).toMatchObject({
      kind: "release",
      event: "Deleted",
    });
  });
});

describe("an endpoint that was gone before it was deleted", () => {
  const missing = (agoMs: number, proved = false) => ({
    missing: { id: "ep-one", since: now - 100 - agoMs, proved },
  });

  test.each([
    ["the first list", {}, { kind: "noop" }],
    ["lists of ten seconds", missing(10_000), { kind: "confirmDeletion", after: "lost" }],
    ["its own GET too", missing(10_000, true), { kind: "release", event: "Deleted" }],
  ])("an endpoint is let go only when proved gone: %s", (_, state, action) => {
    expect(plan(...input({ compute: mine, state }))).toMatchObject(action);
  });

  test("an endpoint is released also when all endpoints of the project are gone, because that creates nothing", () => {
    const list = { notListed: { missing: 9, known: 9 } };
    expect(plan(...input({ compute: mine, list, state: missing(10_000, true) }))).toMatchObject({ kind: "release" });
  });

  test.each([
    ["for ten seconds", false],
    ["by its own GET either", true],
  ])("an endpoint is not believed gone through another base URL or key that does not show it %s", (_, proved) => {
    const elsewhere = going({ linked: "ep-one", status: { endpointID: "ep-one", observedThrough: "there" } });
    expect(plan(...input({ compute: elsewhere, state: missing(10_000, proved) }))).toMatchObject({
      kind: "wait",
      reason: "MassLoss",
      message: expect.stringContaining("Retain"),
    });
  });
});
