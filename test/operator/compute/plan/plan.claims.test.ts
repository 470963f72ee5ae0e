import { describe, expect, test } from "vitest";
import { plan } from "../../../../src/operator/compute/plan/plan.ts";
import { fingerprintOf } from "../../../../src/operator/resources/fingerprint.ts";
import { compute, endpoint, input, madeBy, recordOf, uidOf } from "../../../support/builders.ts";
import { conflict, older, other, younger } from "../claimants.ts";

describe("of those that want to be the primary of one free branch", () => {
  const self = compute();

  test("the older of two that want a free branch makes its primary, in whatever namespace the other is", () => {
    expect(plan(...input({ compute: self, others: [other({ created: younger })] }))).toMatchObject({ kind: "create" });
    expect(plan(...input({ compute: self, others: [other({ created: older })] }))).toMatchObject(conflict());
  });

  test("the lesser uid of two of the same age makes the primary", () => {
    expect(plan(...input({ compute: self, others: [other()] }))).toMatchObject({ kind: "create" });
    expect(plan(...input({ compute: self, others: [other({ uid: uidOf("A") })] }))).toMatchObject(conflict());
  });

  const untrusted = ["ProjectNotFound", "Forbidden", "Unauthorized", "ConnectionNotReady", "Paused"];
  test.each(untrusted)(
    "a claimant that reports %s through a key of its own does not count: it has no access there",
    (shows) => {
      const squatter = other({ created: older, shows, status: { observedThrough: undefined } });
      expect(plan(...input({ compute: self, others: [squatter] }))).toMatchObject({ kind: "create" });
      const seenAt = (baseURL: string) => ({ status: { observedThrough: fingerprintOf(baseURL, "a-key") } });
      const knownThere = other({ created: older, shows, ...seenAt("https://service/api/v2") });
      expect(plan(...input({ compute: self, others: [knownThere] }))).toMatchObject(conflict());
      const knownElsewhere = other({ created: older, shows, ...seenAt("https://own/api/v2") });
      expect(plan(...input({ compute: self, others: [knownElsewhere] }))).toMatchObject({ kind: "create" });
      const sameKey = compute({
        uid: uidOf("b"),
        name: "other",
        created: older,
        shows,
        status: { observedThrough: undefined },
      });
      expect(plan(...input({ compute: self, others: [sameKey] }))).toMatchObject(conflict("team/other"));
    },
  );

  test("a claimant that reports this and has a recorded create counts: that may have made something", () => {
    const status = { observedThrough: undefined, pendingWrite: recordOf({ uid: uidOf("b") }) };
    const pending = other({ created: older, shows: "Unauthorized", status });
    expect(plan(...input({ compute: self, others: [pending] }))).toMatchObject(conflict());
  });

  test("a claimant that is being deleted does not count", () => {
    const gone = other({ created: older, deleting: true });
    expect(plan(...input({ compute: self, others: [gone] }))).toMatchObject({ kind: "create" });
  });

  test.each([
    ["another project", other({ created: older, spec: { projectID: "other-project" } }), {}],
    ["another branch", other({ created: older, spec: { branchID: "br-next" } }), {}],
    ["another service", other({ created: older }), { "others/default": "https://another/api/v2" }],
    ["read replicas", other({ created: older, spec: { type: "read_only" } }), {}],
  ])("a claimant of %s does not count", (_, claimant, elsewhere) => {
    expect(plan(...input({ compute: self, others: [claimant], elsewhere }))).toMatchObject({ kind: "create" });
  });

  test("read replicas never stand in each other's way", () => {
    const replica = compute({ spec: { type: "read_only" } });
    const others = [other({ created: older, spec: { type: "read_only" } })];
    expect(plan(...input({ compute: replica, others }))).toMatchObject({ kind: "create" });
  });
});

describe("a branch that has a primary", () => {
  const holder = other({ created: younger, linked: "ep-one" });
  const failedWrite = madeBy(holder);
  /** A primary that is to be on another branch, and has reported once that it is not on this one. */
  const reportingDrift = (ours: string, spec: Record<string, unknown> = {}) =>
    other({
      generation: 2,
      linked: "ep-one",
      spec: { branchID: "br-next", ...spec },
      status: { observedGeneration: 1, drift: [{ field: "branchID", ours, theirs: "br-main" }] },
    });

  test("a primary which no Compute owns is reported, with how to adopt it", () => {
    expect(plan(...input({ endpoints: [endpoint()] }))).toMatchObject({
      kind: "blocked",
      reason: "PrimaryExists",
      message: expect.stringContaining("spec.adopt to {branchPrimary: true} or {endpointID: ep-one}"),
    });
  });

  test("a branch is its holder's, though that is younger: a proved link beats a claim", () => {
    expect(plan(...input({ endpoints: [failedWrite], others: [holder] }))).toMatchObject(conflict());
  });

  test("a branch is its holder's also where only an annotation links it", () => {
    expect(plan(...input({ endpoints: [endpoint()], others: [holder] }))).toMatchObject(conflict());
  });

  test.each([
    ["is being deleted", other({ linked: "ep-one", deleting: true })],
    ["is to move away", other({ linked: "ep-one", spec: { branchID: "br-next" } })],
    ["is to move to another branch than the one that it reports as drift", reportingDrift("br-before")],
    ["is put back from where somebody moved it", reportingDrift("br-next", { branchDrift: "Correct" })],
  ])("a branch is waited for while its holder %s", (_, leaving) => {
    const seen = madeBy(leaving, { branch_id: "br-main" });
    expect(plan(...input({ endpoints: [seen], others: [leaving] }))).toMatchObject({
      kind: "wait",
      reason: "Creating",
    });
  });

  test.each([
    ["reports that as drift", {}],
    ["reports that as drift, which it may only report", { branchDrift: "Correct", driftPolicy: "Report" }],
  ])("a branch is not waited for while its holder is elsewhere and %s", (_, spec) => {
    const stays = reportingDrift("br-next", spec);
    const seen = madeBy(stays, { branch_id: "br-main" });
    expect(plan(...input({ endpoints: [seen], others: [stays] }))).toMatchObject(conflict());
  });

  test("a branch is waited for by one that moves there, until its holder is gone", () => {
    const mover = compute({ linked: "ep-two", spec: { branchID: "br-next" } });
    const mine = madeBy(mover, { id: "ep-two", branch_id: "br-main" });
    const leaving = other({ linked: "ep-one", deleting: true, spec: { branchID: "br-next" } });
    const endpoints = [mine, madeBy(leaving)];
    expect(plan(...input({ compute: mover, endpoints, others: [leaving] }))).toMatchObject({
      kind: "wait",
      reason: "Moving",
    });
    expect(plan(...input({ compute: mover, endpoints: [mine], others: [leaving] }))).toMatchObject({ kind: "patch" });
  });

  test("a branch is not moved onto while nobody's primary stands there, nor a holder's that stays", () => {
    const mover = compute({ linked: "ep-two", spec: { branchID: "br-next" } });
    const mine = madeBy(mover, { id: "ep-two", branch_id: "br-main" });
    const stays = other({ linked: "ep-one", spec: { branchID: "br-next" } });
    const ownedByOther = endpoint({ branch_id: "br-next" });
    expect(plan(...input({ compute: mover, endpoints: [mine, ownedByOther] }))).toMatchObject({
      reason: "PrimaryExists",
    });
    expect(plan(...input({ compute: mover, endpoints: [mine, madeBy(stays)], others: [stays] }))).toMatchObject(
      conflict(),
    );
  });
});

describe("a move in a ring", () => {
  const ring = (letter: string, from: string, to: string) => {
    const one = compute({ uid: uidOf(letter), name: letter, linked: `ep-${letter}`, spec: { branchID: to } });
    return { one, seen: madeBy(one, { id: `ep-${letter}`, branch_id: from }) };
  };

  test("a ring of two is a Conflict on both sides, which names the other: no order of moves is legal", () => {
    const [a, b] = [ring("a", "br-1", "br-2"), ring("b", "br-2", "br-1")];
    const endpoints = [a.seen, b.seen];
    expect(plan(...input({ compute: a.one, endpoints, others: [b.one] }))).toMatchObject(conflict("team/b"));
    expect(plan(...input({ compute: b.one, endpoints, others: [a.one] }))).toMatchObject(conflict("team/a"));
  });

  test("a ring of three is a Conflict for each", () => {
    const all = [ring("a", "br-1", "br-2"), ring("b", "br-2", "br-3"), ring("c", "br-3", "br-1")];
    const endpoints = all.map(({ seen }) => seen);
    for (const { one } of all) {
      const others = all.filter((entry) => entry.one !== one).map((entry) => entry.one);
      expect(plan(...input({ compute: one, endpoints, others }))).toMatchObject(conflict("team/"));
    }
  });

  test("a ring with a Compute that is being deleted is no Conflict: the other waits", () => {
    const a = ring("a", "br-1", "br-2");
    const b = compute({ uid: uidOf("b"), linked: "ep-b", deleting: true, spec: { branchID: "br-1" } });
    const endpoints = [a.seen, madeBy(b, { id: "ep-b", branch_id: "br-2" })];
    expect(plan(...input({ compute: a.one, endpoints, others: [b] }))).toMatchObject({
      kind: "wait",
      reason: "Moving",
    });
  });

  test("a move to another loop further on is waited for, not followed without end", () => {
    const self = ring("a", "br-1", "br-2");
    const [b, c] = [ring("b", "br-2", "br-3"), ring("c", "br-3", "br-2")];
    const endpoints = [self.seen, b.seen, c.seen];
    expect(plan(...input({ compute: self.one, endpoints, others: [b.one, c.one] }))).toMatchObject({
      reason: "Moving",
    });
  });
});

describe("an endpoint that two Computes hold", () => {
  test("belongs to the Compute whose signature it carries, even if another is older", () => {
    const maker = other({ created: younger, linked: "ep-one" });
    const copy = compute({ linked: "ep-one" });
    const seen = madeBy(maker);
    expect(plan(...input({ compute: copy, endpoints: [seen], others: [maker] }))).toMatchObject(conflict());
    expect(plan(...input({ compute: maker, endpoints: [seen], others: [copy] }))).toMatchObject({ kind: "settled" });
  });

  test("belongs to the older where neither has proof, whichever was restored or copied", () => {
    const [a, b] = [compute({ linked: "ep-one" }), other({ created: younger, linked: "ep-one" })];
    expect(plan(...input({ compute: a, endpoints: [endpoint()], others: [b] }))).toMatchObject({ kind: "settled" });
    expect(plan(...input({ compute: b, endpoints: [endpoint()], others: [a] }))).toMatchObject(conflict("team/shop"));
  });

  test("belongs to the older where its name cannot be read: it may be the maker's, so adopting takes it from nobody", () => {
    const seen = endpoint({ unreadable: ["name"] });
    const maker = compute({ linked: "ep-one" });
    const adopter = other({ created: younger, linked: "ep-one", spec: { adopt: { endpointID: "ep-one" } } });
    expect(plan(...input({ compute: maker, endpoints: [seen], others: [adopter] }))).toMatchObject({ kind: "settled" });
    expect(plan(...input({ compute: adopter, endpoints: [seen], others: [maker] }))).toMatchObject(
      conflict("team/shop"),
    );
  });

  test("belongs to the adopter where it is linked, not to the one with the annotation alone", () => {
    const adopter = other({ created: younger, linked: "ep-one", spec: { adopt: { endpointID: "ep-one" } } });
    const copy = compute({ linked: "ep-one" });
    expect(plan(...input({ compute: copy, endpoints: [endpoint()], others: [adopter] }))).toMatchObject(conflict());
  });

  test("carries the signature of a deleted Compute: the linked Compute keeps it", () => {
    const restored = compute({ uid: uidOf("z"), linked: "ep-one" });
    expect(plan(...input({ compute: restored, endpoints: [madeBy(compute())] }))).toMatchObject({ kind: "settled" });
  });

  test("an endpoint of two is written to by no loser, neither its finalizer nor its link, and the loser deletes nothing", () => {
    const maker = other({ linked: "ep-one" });
    const loser = compute({ status: { endpointID: "ep-one" }, guarded: false });
    expect(plan(...input({ compute: loser, endpoints: [madeBy(maker)], others: [maker] }))).toMatchObject(conflict());
    const leaving = compute({ linked: "ep-one", deleting: true });
    expect(plan(...input({ compute: leaving, endpoints: [madeBy(maker)], others: [maker] }))).toMatchObject({
      kind: "release",
      message: expect.stringContaining("it belongs to Compute others/other"),
    });
  });
});
