import type { JsonObject } from "../api-server/objects.ts";
import type { Action, Timed } from "./actions.ts";
import { noFaults } from "./fault-plan.ts";
import type { Script } from "./run-script.ts";

const project = "shiny-wind-000001";

/** Never suspends automatically, so that everything comes to rest soon. */
const spec = (more: JsonObject = {}): JsonObject => ({
  projectID: project,
  branchID: "br-one-1",
  computeUnits: { min: 1, max: 2 },
  scaleToZero: { enabled: false },
  ...more,
});

const scenario = (...actions: [seconds: number, action: Action][]): Script => {
  const timed: Timed[] = actions.map(([seconds, action]) => ({ atMs: seconds * 1000, action }));
  const last = timed.at(-1)?.atMs ?? 0;
  return { seed: 1, operators: 1, rates: noFaults, actions: timed, calmAtMs: last + 5000 };
};

/** The same at a service that shows only what its specification shows. */
const unnamed = (script: Script): Script => ({ ...script, strictSpec: true });

const apply = (more: JsonObject = {}): Action => ({ do: "apply", name: "c0", spec: spec(more) });

const pull = (more: JsonObject = {}): JsonObject => ({
  projectID: project,
  branchName: "preview/1",
  expiry: { after: "72h" },
  ...more,
});
const branch = (more: JsonObject = {}): Action => ({ do: "apply branch", name: "b0", spec: pull(more) });
const reset = (value: string): Action => ({ do: "annotate branch", name: "b0", key: "resetAt", value });

/** What an operator has to get right whenever it is interrupted: one thing after another, in fair weather. */
export const scenarios: Readonly<Record<string, Script>> = {
  "creating a primary": scenario([1, apply()]),
  "creating a replica": scenario([1, apply({ type: "read_only" })]),
  "adopting by id": scenario([1, apply({ branchID: "br-main-1", adopt: { endpointID: "ep-seed-1" } })]),
  "adopting the branch's primary": scenario([1, apply({ branchID: "br-main-1", adopt: { branchPrimary: true } })]),
  "changing the size": scenario([1, apply()], [10, apply({ computeUnits: { min: 2, max: 4 } })]),
  "moving to another branch": scenario([1, apply()], [10, apply({ branchID: "br-two-1" })]),
  restarting: scenario([1, apply()], [10, { do: "annotate", name: "c0", key: "restartedAt", value: "now" }]),
  deleting: scenario([1, apply()], [10, { do: "delete", name: "c0" }]),
  "deleting a replica": scenario([1, apply({ type: "read_only" })], [10, { do: "delete", name: "c0" }]),
  "deleting at once": scenario([1, apply({ type: "read_only" })], [1.1, { do: "delete", name: "c0" }]),
  "deleting an adopted one": scenario(
    [1, apply({ branchID: "br-main-1", adopt: { endpointID: "ep-seed-1" } })],
    [10, { do: "delete", name: "c0" }],
  ),
  "deleting what is retained": scenario([1, apply({ deletionPolicy: "Retain" })], [10, { do: "delete", name: "c0" }]),
  "replacing one by another": scenario(
    [1, apply()],
    [10, { do: "delete", name: "c0" }],
    [10.5, apply()],
    [14, apply()],
  ),
  "putting a drift right": scenario(
    [1, apply()],
    [10, { do: "change endpoint", nth: 1, body: { autoscaling_limit_min_cu: 4, autoscaling_limit_max_cu: 4 } }],
  ),
  "creating a lost one again": scenario([1, apply({ type: "read_only" })], [10, { do: "delete endpoint", nth: 1 }]),
  "deleting a branch": scenario([1, branch()], [10, { do: "delete branch", name: "b0" }]),
  "deleting a branch at once": scenario([1, branch()], [1.1, { do: "delete branch", name: "b0" }]),
  "deleting a branch with its compute": scenario(
    [1, branch({ compute: { computeUnits: { min: 1, max: 1 }, scaleToZero: { enabled: false } } })],
    [15, { do: "delete branch", name: "b0" }],
  ),
  "keeping a branch that is retained": scenario(
    [1, branch({ deletionPolicy: "Retain" })],
    [10, { do: "delete branch", name: "b0" }],
  ),
  "deleting the namespace of a branch": scenario([1, branch()], [10, { do: "delete namespace" }]),
  "giving a branch another end": scenario([1, branch()], [10, branch({ expiry: { never: true } })]),
  "resetting a branch twice": scenario([1, branch()], [10, reset("1")], [120, reset("2")]),
  "moving a compute to a Branch": scenario(
    [1, apply()],
    [2, branch()],
    [10, { do: "apply", name: "c0", spec: { ...spec(), branchID: null, branchRef: { name: "b0" } } }],
  ),
  "rotating the key": scenario(
    [1, apply()],
    [10, { do: "rotate key", revokeAfterMs: 5000 }],
    [16, apply({ pooler: { enabled: true } })],
  ),
  "scaling a pool": scenario(
    [1, { do: "scale pool", name: "p", replicas: 2, template: spec() }],
    [10, { do: "scale pool", name: "p", replicas: 3, template: spec() }],
    [20, { do: "scale pool", name: "p", replicas: 1, template: spec() }],
  ),
  "creating a primary where no names are shown": unnamed(scenario([1, apply()])),
  "creating a replica where no names are shown": unnamed(scenario([1, apply({ type: "read_only" })])),
  "deleting a primary where no names are shown": unnamed(scenario([1, apply()], [10, { do: "delete", name: "c0" }])),
  "deleting a replica where no names are shown": unnamed(
    scenario([1, apply({ type: "read_only" })], [10, { do: "delete", name: "c0" }]),
  ),
  "deleting the namespace": scenario([1, apply({ type: "read_only" })], [10, { do: "delete namespace" }]),
  "deleting the CRDs": scenario([1, apply({ adopt: { branchPrimary: true } })], [10, { do: "delete CRDs", all: true }]),
  "leading the connection to another service and back": scenario(
    [1, apply()],
    [10, { do: "edit base URL", backAfterMs: 20_000 }],
    [30, apply({ pooler: { enabled: true } })],
  ),
  "taking over what a former Compute made": {
    ...scenario(
      [1, apply({ type: "read_only", adopt: { former: true } })],
      [2, { do: "scale pool", name: "p", replicas: 1, template: spec() }],
      [10, { do: "lose cluster", downMs: 500 }],
    ),
    fleet: "prod",
  },
  "taking over the primary that a former Compute made": {
    ...scenario([1, apply({ adopt: { former: true } })], [10, { do: "lose cluster", downMs: 500 }]),
    fleet: "prod",
  },
  "writing a signature over when the fleet's name changes": {
    ...scenario([1, apply()], [10, { do: "rename fleet", fleet: "live", downMs: 500 }]),
    fleet: "prod",
  },
  "moving from one shard to the other": {
    ...scenario(
      [1, apply()],
      [10, { do: "label", name: "c0", shard: "b" }],
      [11, apply({ pooler: { enabled: true } })],
    ),
    shards: true,
  },
};
