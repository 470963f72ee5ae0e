import { expect, test } from "vitest";
import { EndpointIndex } from "../../../../src/operator/claims/ownership.ts";
import { rememberedSince } from "../../../../src/operator/compute/memory.ts";
import { siblingsOf } from "../../../../src/operator/compute/observe/siblings.ts";
import type { Compute } from "../../../../src/operator/resources/compute.ts";
import { parseComputePool } from "../../../../src/operator/resources/compute-pool.ts";
import { compute, endpoint, uidOf } from "../../../support/builders.ts";

const read = (maxUnavailable?: number) => {
  const parsed = parseComputePool({
    metadata: { name: "readers", namespace: "team", uid: uidOf("p"), resourceVersion: "1" },
    spec: { replicas: 3, maxUnavailable, template: { projectID: "shop", branchID: "br-main" } },
    status: {},
  });
  if (!parsed.ok) throw new Error(parsed.problem);
  return parsed.value;
};

function member(index: number, ready: string | undefined = "True"): Compute {
  const conditions = ready && [
    { type: "Ready", status: ready, reason: "Active", message: "", lastTransitionTime: "2026-01-01T00:00:00Z" },
  ];
  const made = compute({
    name: `readers-${index}`,
    uid: uidOf(index),
    linked: `ep-${index}`,
    spec: { type: "read_only" },
    status: { endpointID: `ep-${index}`, ...(conditions && { conditions }) },
  });
  const owner = { apiVersion: "compute-operator.dev/v1alpha1", kind: "ComputePool", name: "readers", uid: uidOf("p") };
  return { ...made, metadata: { ...made.metadata, ownerReferences: [owner] } };
}

interface Given {
  others: readonly Compute[];
  cut?: number;
  pending?: string;
  maxUnavailable?: number;
}

function unavailable({ others, cut, pending, maxUnavailable }: Given) {
  const self = member(0, "False");
  const known = (uid: string) => (uid === uidOf(cut ?? "x") ? { ...rememberedSince(0), cutAt: 1 } : undefined);
  const pool = read(maxUnavailable);
  const siblings = siblingsOf(self, { pool: () => pool, membersOf: () => [self, ...others], known, termSince: 0 });
  const endpoints = [endpoint({ id: "ep-1", ...(pending && { pending_state: pending }) })];
  return siblings?.unavailable(new EndpointIndex(endpoints));
}

test("a member that is ready is available, and the Compute itself does not count", () => {
  expect(unavailable({ others: [member(1), member(2)] })).toBe(0);
});

test("a sibling that is not ready, or shows no condition, is unavailable", () => {
  expect(unavailable({ others: [member(1, "False"), member(2, "")] })).toBe(2);
});

test("a sibling with a write that cuts connections, which no list shows ended, is unavailable though it shows Ready", () => {
  expect(unavailable({ others: [member(1), member(2)], cut: 2 })).toBe(1);
});

test("a sibling that a list shows changing is unavailable, as after a write of an earlier term, and one that suspends is not", () => {
  expect(unavailable({ others: [member(1), member(2)], pending: "active" })).toBe(1);
  expect(unavailable({ others: [member(1), member(2)], pending: "idle" })).toBe(0);
});

test("a replica that is missing is unavailable, as one that somebody deleted", () => {
  expect(unavailable({ others: [member(1)] })).toBe(1);
  expect(unavailable({ others: [] })).toBe(2);
});

test("a member that the pool is about to remove is no sibling to wait for, ready or not", () => {
  expect(unavailable({ others: [member(1), member(2), member(3, "False")] })).toBe(0);
  expect(unavailable({ others: [member(1), member(2, "False"), member(3)] })).toBe(1);
});

test.each([
  ["of another namespace", { namespace: "elsewhere" }],
  ["of another name", { name: "readers-main" }],
])("a Compute %s that names the pool as its owner is no member of it", (_, metadata) => {
  const forged = member(2, "False");
  const stranger = { ...forged, metadata: { ...forged.metadata, uid: uidOf(9), ...metadata } };
  expect(unavailable({ others: [member(1), member(2), stranger] })).toBe(0);
  const options = { pool: () => read(), membersOf: () => [], known: () => undefined, termSince: 0 };
  expect(siblingsOf(stranger, options)).toBeUndefined();
});

test("one member may be unavailable at a time unless the pool says otherwise", () => {
  const siblings = (most?: number) =>
    siblingsOf(member(0), { pool: () => read(most), membersOf: () => [], known: () => undefined, termSince: 0 });
  expect(siblings()).toMatchObject({ termSince: 0, pool: "readers", maxUnavailable: 1 });
  expect(siblings(3)).toMatchObject({ maxUnavailable: 3 });
});

test("a Compute that no pool owns has no siblings", () => {
  expect(
    siblingsOf(compute(), { pool: () => undefined, membersOf: () => [], known: () => undefined, termSince: 0 }),
  ).toBeUndefined();
});
