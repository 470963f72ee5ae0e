import { expect, test } from "vitest";
import { claimed, newLease, released } from "../../../src/operator/kube/lease-claim.ts";

const now = Date.parse("2026-01-01T00:00:07.250Z");
const claim = { identity: "a", durationMs: 15_000, now };
const time = "2026-01-01T00:00:07.250000Z";

test("a new lease is held from now on, for the duration in whole seconds", () => {
  expect(newLease({ namespace: "n", name: "l" }, { ...claim, durationMs: 14_001 })).toEqual({
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { namespace: "n", name: "l" },
    spec: {
      holderIdentity: "a",
      leaseDurationSeconds: 15,
      acquireTime: time,
      renewTime: time,
      leaseTransitions: 0,
    },
  });
});

test("a renewal keeps the time at which it was acquired, and the count of transitions", () => {
  const acquireTime = "2026-01-01T00:00:00.000000Z";
  const before = { holderIdentity: "a", acquireTime, leaseTransitions: 3 };
  expect(claimed(before, claim)).toMatchObject({ acquireTime, renewTime: time, leaseTransitions: 3 });
  expect(claimed({ holderIdentity: "a" }, claim)).toMatchObject({ acquireTime: time, leaseTransitions: 0 });
});

test("a lease with another holder is acquired now, and counts one more transition", () => {
  const before = { holderIdentity: "b", acquireTime: "2026-01-01T00:00:00.000000Z", leaseTransitions: 3 };
  expect(claimed(before, claim)).toMatchObject({ holderIdentity: "a", acquireTime: time, leaseTransitions: 4 });
  expect(claimed({}, claim)).toMatchObject({ leaseTransitions: 1 });
});

test("a lease given back belongs to nobody for a second, and keeps the rest", () => {
  const before = { holderIdentity: "a", leaseDurationSeconds: 15, acquireTime: "then", leaseTransitions: 3 };
  expect(released(before, now)).toEqual({ ...before, holderIdentity: "", leaseDurationSeconds: 1, renewTime: time });
});
