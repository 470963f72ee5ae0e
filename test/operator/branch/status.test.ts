import { describe, expect, test } from "vitest";
import type { ListedBranch } from "../../../src/api/branch.ts";
import type { Observation, Unobserved } from "../../../src/operator/branch/observation.ts";
import { type Outcome, unchanged } from "../../../src/operator/branch/outcome.ts";
import type { BranchReason } from "../../../src/operator/branch/reasons.ts";
import { nextStatus } from "../../../src/operator/branch/status.ts";
import type { Branch } from "../../../src/operator/resources/branch.ts";
import { uidOf } from "../../support/builders.ts";
import {
  type BranchFields,
  branch,
  hour,
  inMs,
  listed,
  madeBy,
  memory,
  minute,
  now,
  observation,
  type Seen,
  serviceNow,
  subject,
} from "./builders.ts";

const mine = (fields: BranchFields = {}) => branch({ linked: "br-one", ...fields });
const shown = (reason: BranchReason) => ({
  condition: { kind: "shown" as const, reason, message: `This is ${reason}.` },
});
const unobserved = (object: Branch): Unobserved => ({
  ...subject(object),
  kind: "unobserved",
  why: { kind: "pending" },
});
const stalled = (type: string, reason: string) => ({
  type,
  status: "True",
  reason,
  message: "",
  lastTransitionTime: "2026-01-01T00:00:00Z",
});

function after(
  object: Branch,
  done: Partial<Outcome> = {},
  o: Observation | Unobserved = observation({ object }),
  remembered: Parameters<typeof memory>[0] = {},
) {
  return nextStatus({ ...unchanged(object), ...done }, o, memory(remembered), serviceNow);
}

/** The next status where a list shows the branch with these fields. */
const seen = (
  object: Branch,
  fields: Partial<ListedBranch> = {},
  done: Partial<Outcome> = shown("Available"),
  more: Seen = {},
) => after(object, done, observation({ object, branches: [listed(fields)], ...more }));

describe("what a list shows of the branch", () => {
  test("what a list shows is what the status shows", () => {
    const expires_at = inMs(hour);
    const fields = { expires_at, protected: true, default: true, logical_size: 10.6, current_state: "init" };
    expect(seen(mine(), fields)).toMatchObject({
      branchID: "br-one",
      branchName: "team/shop",
      parentID: "br-main",
      createdAt: inMs(-hour),
      expiresAt: expires_at,
      currentState: "init",
      protected: true,
      default: true,
      logicalSize: 11,
      children: 0,
      observedThrough: "here",
    });
  });

  test.each([
    ["is written again where it vanished", {}, "open", "1"],
    ["goes once it is answered", { pendingWrite: "1" }, "closed", undefined],
    ["goes where the service refused it", { pendingWrite: "1" }, "unsent", undefined],
    ["of another object goes", { pendingWrite: "2" }, undefined, undefined],
  ] as const)(
    "the record of a reset %s, with any status",
    (_, { pendingWrite }: { pendingWrite?: string }, phase, left) => {
      const recordOf = (value: string) => ({
        uid: uidOf("a"),
        operation: "reset",
        value,
        since: inMs(0),
        branchID: "br-one",
      });
      const object = mine({ status: pendingWrite === undefined ? {} : { pendingWrite: recordOf(pendingWrite) } });
      const reset = phase === undefined ? undefined : { record: recordOf("1"), phase, openedAt: 0 };
      const status = nextStatus(
        { ...unchanged(object), ...shown("Available") },
        observation({ object }),
        memory({ reset }),
        serviceNow,
      );
      expect(status?.pendingWrite?.value).toBe(left);
    },
  );

  test("a proof of another service does not come to count because a list shows its branch", () => {
    const object = mine({ status: { observedThrough: "there" } });
    expect(after(object, shown("Conflict"))).toMatchObject({ observedThrough: "there" });
    const noted = observation({ object, branches: [madeBy(object)] });
    expect(after(object, shown("Available"), noted)).toMatchObject({ observedThrough: "here" });
  });

  test("what a list shows is given way to by a newer answer", () => {
    const answered = listed({ name: "answered", current_state: "init" });
    expect(seen(mine(), {}, { ...shown("Updating"), answered })).toMatchObject({
      branchName: "answered",
      state: "Creating",
    });
  });

  test("what a list shows names the connection of the cluster that showed it", () => {
    const spec = { connectionRef: { kind: "ClusterServiceConnection", name: "all" } };
    expect(seen(mine({ spec }))).toMatchObject({ clusterConnection: "all" });
    expect(seen(mine({ status: { clusterConnection: "all" } }))?.clusterConnection).toBeUndefined();
  });

  test("what a list shows counts its children, and those of no other", () => {
    const object = mine();
    const children = ["br-two", "br-three"].map((id) => listed({ id, name: id, parent_id: "br-one" }));
    const branches = [listed(), ...children];
    expect(after(object, shown("Available"), observation({ object, branches }))).toMatchObject({ children: 2 });
  });

  test("what a list showed stays in the status while no list shows the branch", () => {
    const status = {
      branchName: "before",
      children: 2,
      observedThrough: "there",
      clusterConnection: "all",
      state: "Ready",
    };
    const object = mine({ status });
    expect(after(object, shown("Unauthorized"), unobserved(object))).toMatchObject(status);
    const missing = observation({ object, branches: [] });
    expect(after(object, shown("Updating"), missing)).toMatchObject(status);
  });

  test.each([
    [1100, 1500, 1100],
    [1000, 1024, 1024],
    [undefined, 1500, 1500],
    [1000, undefined, undefined],
  ])(
    "a size of %s that becomes %s is written as %s: only one of another class is news",
    (before, becomes, expected) => {
      const object = mine({ status: { logicalSize: before } });
      expect(seen(object, { logical_size: becomes })?.logicalSize).toBe(expected);
    },
  );

  test("what a list shows takes back that the branch is gone, where it is that one", () => {
    const gone = { branchID: "br-one", how: "BranchLost", expiry: "never" };
    expect(seen(mine({ status: { gone } }))).not.toHaveProperty("gone");
    const earlier = { ...gone, branchID: "br-old" };
    expect(seen(mine({ status: { gone: earlier } }))?.gone).toEqual(earlier);
    const object = mine({ status: { gone } });
    expect(after(object, shown("BranchLost"), observation({ object, branches: [] }))?.gone).toEqual(gone);
  });
});

describe("a status that would be as it was", () => {
  const settled = () => {
    const first = seen(mine());
    return mine({ status: { ...first } });
  };

  test("a status that would be as it was is not written", () => {
    expect(seen(settled())).toBeUndefined();
    expect(after(settled(), {})).toBeUndefined();
  });

  test("a status has no member without a value", () => {
    expect(Object.values(seen(mine()) ?? {})).not.toContain(undefined);
  });
});

describe("a request of a person", () => {
  const asked = { annotations: { reconcileRequestedAt: "2" }, status: { lastHandledReconcileAt: "1" } };

  test("a request for a reconcile is handled once a list was seen", () => {
    expect(seen(mine(asked))).toMatchObject({ lastHandledReconcileAt: "2" });
    const object = mine(asked);
    expect(after(object, shown("Unauthorized"), unobserved(object))).toMatchObject({ lastHandledReconcileAt: "1" });
  });

  test.each([
    ["that is there before any status is taken as carried out", { observedGeneration: -1 }, {}, "1"],
    ["that is there before any generation is taken as carried out", { observedGeneration: undefined }, {}, "1"],
    ["is not taken as carried out later", { observedGeneration: 0 }, {}, undefined],
    ["is not taken over what is known", { observedGeneration: -1, resetAt: "0" }, {}, "0"],
    ["is not taken over news", { observedGeneration: -1 }, { news: { resetAt: "0" } }, "0"],
  ])("a request for a reset %s", (_, status, done, resetAt) => {
    const object = branch({ annotations: { resetAt: "1" }, status });
    expect(after(object, { ...shown("Creating"), ...done })?.resetAt).toBe(resetAt);
  });

  test("a request for a reset is not taken as carried out by a pause", () => {
    const object = branch({ annotations: { resetAt: "1" }, status: { observedGeneration: -1 } });
    expect(after(object, shown("Paused"))?.resetAt).toBeUndefined();
  });
});

describe("the generation", () => {
  const newer = (fields: BranchFields = {}) =>
    mine({ generation: 2, ...fields, status: { observedGeneration: 1, appliedGeneration: 1, ...fields.status } });

  test.each<[string, Partial<Outcome>, number, number]>([
    ["a reason that says so", shown("Available"), 2, 2],
    ["a write that was accepted", { ...shown("Updating"), isApplied: true }, 2, 2],
    ["no reason that tells a difference", shown("Drifted"), 2, 1],
    ["no reason in progress", shown("Updating"), 2, 1],
    ["no pause, which compares nothing", shown("Paused"), 1, 1],
    ["nothing that is not shown", { isApplied: true, news: { resetAt: "1" } }, 1, 1],
  ])("the generation is applied by %s", (_, done, observedGeneration, appliedGeneration) => {
    expect(seen(newer(), {}, done)).toMatchObject({ observedGeneration, appliedGeneration });
  });

  test.each([
    ["is compared with the spec that was applied last", 2, "True"],
    ["differs from the spec that is not applied yet", 1, "False"],
  ])("what is hindered %s", (_, appliedGeneration, status) => {
    const next = seen(newer({ status: { appliedGeneration } }), {}, shown("ServiceUnavailable"));
    expect(next?.conditions).toContainEqual(expect.objectContaining({ type: "Synced", status }));
  });

  test("nothing is compared where no branch is seen", () => {
    const object = newer({ status: { appliedGeneration: 2 } });
    for (const o of [unobserved(object), observation({ object, branches: [] })]) {
      const next = after(object, shown("ServiceUnavailable"), o);
      expect(next?.conditions).toContainEqual(expect.objectContaining({ type: "Synced", status: "Unknown" }));
    }
  });
});

describe("the end of the branch that has the name", () => {
  const waiting = branch({ status: { takenUntil: inMs(hour) } });

  test.each([
    ["is kept while the name is taken", shown("BranchExists"), inMs(hour)],
    ["is kept while nothing new is shown", { news: { resetAt: "1" } }, inMs(hour)],
    ["is kept by a pause", shown("Paused"), inMs(hour)],
    ["is forgotten once it is not", shown("Creating"), undefined],
  ])("the end of the other branch %s", (_, done, takenUntil) => {
    expect(after(waiting, done)?.takenUntil).toBe(takenUntil);
  });
});

describe("the policy in force for the deletion", () => {
  const proof = (by: string) => ({ uid: mine().metadata.uid, branchID: "br-one", by });

  test.each([
    ["the declared one", mine({ spec: { deletionPolicy: "Retain" } }), "Retain"],
    [
      "the declared one, also for an adopted branch",
      mine({ spec: { deletionPolicy: "Delete" }, status: { proof: proof("adopted") } }),
      "Delete",
    ],
    ["Retain for an adopted branch", mine({ status: { proof: proof("adopted") } }), "Retain"],
    ["Delete for one that was made", mine(), "Delete"],
    ["Delete for one that was taken over", mine({ status: { proof: proof("former") } }), "Delete"],
    [
      "none where nothing proves the branch, whatever was declared before",
      mine({ status: { proof: undefined, deletionPolicy: "Retain" } }),
      undefined,
    ],
    ["none without a branch", branch({ status: { deletionPolicy: "Retain" } }), undefined],
  ])("the policy in force is %s", (_, object, policy) => {
    expect(after(object, shown("Creating"))?.deletionPolicy).toBe(policy);
  });
});

describe("the state in one word", () => {
  const gone = (how: string, branchID = "br-one") => ({ status: { gone: { branchID, how, expiry: "never" } } });
  const lacking = (object: Branch) => observation({ object, branches: [] });

  test.each([
    ["Expired", "a branch that ended", mine(gone("Expired")), "Expired"],
    ["Lost", "a branch that is lost", mine(gone("BranchLost")), "BranchLost"],
    ["Unknown", "a branch that no list shows yet", mine(gone("Expired", "br-old")), "Updating"],
    ["Expired", "an end that was over before the create", branch(), "Expired"],
    ["Unknown", "a create without an answer", branch(), "CreateUnknown"],
    ["NotCreated", "no branch", branch(), "BranchNotFound"],
    ["NotCreated", "no branch of an object that goes", branch({ deleting: true }), "Deleting"],
    ["Deleting", "a branch that goes", mine({ deleting: true }), "Deleting"],
    ["Ready", "a branch as it was", mine({ status: { state: "Ready" } }), "Updating"],
    ["Ready", "a branch whose deletion waits", mine({ deleting: true, status: { state: "Ready" } }), "InUse"],
  ] as const)("the state is %s for %s", (state, _, object, reason) => {
    expect(after(object, shown(reason), lacking(object))?.state).toBe(state);
  });

  test.each([
    ["Resetting", {}, "Resetting"],
    ["Creating", { current_state: "init" }, "Creating"],
    ["Ready", { current_state: "ready" }, "Available"],
    ["Ready", { current_state: "archived" }, "Available"],
    ["Ready", {}, "InUse"],
  ] as const)("the state is %s for a branch that is listed with %j and %s", (state, fields, reason) => {
    expect(seen(mine(), fields, shown(reason))?.state).toBe(state);
  });

  test("the state follows the reason shown before where none is shown now", () => {
    expect(after(branch({ shows: "CreateUnknown" }), {})?.state).toBe("Unknown");
  });
});

describe("a reason that only a person can end", () => {
  const reported = (object: Branch, reason: BranchReason, remembered = {}) =>
    after(object, shown(reason), unobserved(object), remembered)?.conditions?.map(({ type }) => type);
  const since = (ms: number, reason: BranchReason = "Unauthorized") => ({
    requeue: { reason, count: 3, since: now - ms, dueAt: undefined },
  });
  const going = ["Ready", "Synced", "Reconciling"];
  const stuck = ["Ready", "Synced", "Stalled"];

  test.each([
    ["goes on at first", mine(), "Unauthorized", {}, going],
    ["goes on for five minutes", mine(), "Unauthorized", since(5 * minute - 10), going],
    ["is stalled then", mine(), "Unauthorized", since(5 * minute), stuck],
    ["counts from its own begin", mine(), "Unauthorized", since(5 * minute, "Forbidden"), going],
    [
      "is stalled as before after a restart",
      mine({ status: { conditions: [stalled("Stalled", "Unauthorized")] } }),
      "Unauthorized",
      {},
      stuck,
    ],
    [
      "goes on where another one was stalled",
      mine({ status: { conditions: [stalled("Stalled", "Forbidden")] } }),
      "Unauthorized",
      {},
      going,
    ],
    ["is no reason that passes", mine(), "ServiceUnavailable", since(hour, "ServiceUnavailable"), going],
    ["is stalled at once where nothing is retried", mine(), "Conflict", {}, stuck],
  ] as const)("a lasting reason %s", (_, object, reason, remembered, types) => {
    expect(reported(object, reason, remembered)).toEqual(types);
  });

  test("its conditions have the message, the generation and the time", () => {
    const next = after(mine({ generation: 3 }), shown("Conflict"));
    expect(next?.conditions?.[0]).toEqual({
      type: "Ready",
      status: "False",
      reason: "Conflict",
      message: "This is Conflict.",
      observedGeneration: 3,
      lastTransitionTime: inMs(0),
    });
  });
});
