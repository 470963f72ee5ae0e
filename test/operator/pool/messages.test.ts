import { expect, test } from "vitest";
import * as messages from "../../../src/operator/pool/messages.ts";
import type { PoolPlan } from "../../../src/operator/pool/plan.ts";
import { type ComputePool, parseComputePool } from "../../../src/operator/resources/compute-pool.ts";
import { compute } from "../../support/builders.ts";

test.each([
  [messages.ready([]), "All replicas are ready."],
  [messages.ready([], 2), "All replicas are ready. Changes of 2 of them wait for a window (their status.nextWindow)."],
  [
    messages.ready(["ONE", "TWO"]),
    "All replicas are ready. An admission policy changed ONE, TWO of their spec, which the pool keeps.",
  ],
  [
    messages.scaling.changing("POOL"),
    "Replicas are being created, changed or removed. See each with: kubectl get computes -l compute-operator.dev/pool=POOL",
  ],
  [
    messages.scaling.notReady("POOL"),
    "Replicas are not ready yet. See each with: kubectl get computes -l compute-operator.dev/pool=POOL",
  ],
  [
    messages.scaling.inTurn("POOL"),
    "Replicas change one after another. See each with: kubectl get computes -l compute-operator.dev/pool=POOL",
  ],
  [
    messages.conflict("COMPUTE"),
    "Compute COMPUTE exists and does not belong to this pool. Delete that Compute, or create the pool under another name.",
  ],
  [
    messages.adopted("POOL"),
    "Taken back by ComputePool POOL, as after a restored backup: a former pool of that name had it. The endpoint stays.",
  ],
  [
    messages.rejected("SAID"),
    "The Kubernetes API server refused to create, change or delete a replica: SAID. Change the spec, or the policy that refuses it; retried automatically.",
  ],
  [
    messages.driftCorrected("POOL"),
    "The spec differed from the template of ComputePool POOL and was restored. Change the template instead.",
  ],
])("a message about a pool names what it is about: %s", (said, expected) => {
  expect(said).toBe(expected);
});

const status = (reason: string | undefined, observedGeneration = 1) => ({
  observedGeneration,
  ...(reason === undefined
    ? {}
    : {
        conditions: [
          { type: "Ready", status: "False", reason, message: `${reason}.`, lastTransitionTime: "2026-01-01T00:00:00Z" },
        ],
      }),
});

function pool(before: object): ComputePool {
  const read = parseComputePool({
    metadata: { name: "readers", namespace: "shop", uid: "u-1", resourceVersion: "1", generation: 2 },
    spec: { replicas: 3, template: { projectID: "shop-one", branchID: "br-main" } },
    status: before,
  });
  if (!read.ok) throw new Error(read.problem);
  return read.value;
}

const nothing: PoolPlan = { create: [], adopt: [], update: [], remove: [], restart: [], blocked: undefined };
const member = { index: 0, compute: compute() };
const creating = { ...nothing, create: [1] };
const removing = { ...nothing, remove: [member] };
const updating = { ...nothing, update: [member] };

test.each<[string, object, object, PoolPlan, object | undefined]>([
  [
    "becomes ready",
    status("Scaling"),
    status("Ready"),
    nothing,
    { type: "Normal", reason: "Ready", message: "Ready." },
  ],
  ["is ready as before", status("Ready"), status("Ready"), nothing, undefined],
  [
    "is in conflict",
    status("Ready"),
    status("Conflict"),
    creating,
    { type: "Warning", reason: "Conflict", message: "Conflict." },
  ],
  ["has no condition", status("Ready"), status(undefined), creating, undefined],
  [
    "begins to grow",
    status("Ready"),
    status("Scaling"),
    creating,
    { type: "Normal", reason: "Scaling", message: "Creating or removing replicas, to have 3." },
  ],
  [
    "begins to shrink",
    status(undefined),
    status("Scaling"),
    removing,
    { type: "Normal", reason: "Scaling", message: "Creating or removing replicas, to have 3." },
  ],
  [
    "gets another template while it grows",
    status("Scaling", 1),
    status("Scaling"),
    updating,
    { type: "Normal", reason: "Scaling", message: "Applying the changed template to the replicas." },
  ],
  ["goes on growing", status("Scaling", 2), status("Scaling"), creating, undefined],
  ["waits for its replicas", status("Ready"), status("Scaling"), nothing, undefined],
])("the event of a pool that %s is what a person has to know", (_, before, after, plan, event) => {
  const read = pool(after).status;
  expect(messages.poolEvent(pool(before), read, plan)).toEqual(event);
});
