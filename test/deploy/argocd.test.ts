import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { type LuaEngine, LuaFactory } from "wasmoon";

const script = readFileSync("deploy/argocd/health.lua", "utf8");

type Value = string | number | boolean | undefined | readonly Value[] | { readonly [key: string]: Value };

function lua(value: Value): string {
  if (value === undefined) return "nil";
  if (typeof value !== "object") return JSON.stringify(value);
  if (Array.isArray(value)) return `{${value.map((item: Value) => lua(item)).join(", ")}}`;
  return `{${Object.entries(value)
    .map(([key, inner]: [string, Value]) => `[${JSON.stringify(key)}] = ${lua(inner)}`)
    .join(", ")}}`;
}

const engine: LuaEngine = await new LuaFactory().createEngine();

/** What Argo CD shows of `object`, e.g. `Healthy: Active: It runs.` */
async function health(object: Value): Promise<string> {
  const program = `
    -- Argo CD opens none of these libraries.
    local string, table, math, os, io = nil, nil, nil, nil, nil
    local obj = ${lua(object)}
    local function health()
      ${script}
    end
    local hs = health()
    return hs.status .. ": " .. hs.message`;
  return String(await engine.doString(program));
}

const condition = (type: string, status: string, reason: string) => ({
  type,
  status,
  reason,
  message: `It is ${reason}.`,
});

const compute = (conditions: readonly Value[], { generation = 2, observed = 2, metadata = {} } = {}): Value => ({
  kind: "Compute",
  metadata: { name: "shop-primary", generation, ...metadata },
  status: { observedGeneration: observed, conditions },
});

const active = [condition("Ready", "True", "Active"), condition("Synced", "True", "Active")];

describe("Argo CD sees a Compute", () => {
  it.each<[string, Value, string]>([
    [
      "that was never reconciled as in progress",
      compute([], { observed: -1 }),
      "Progressing: Waiting for the operator to reconcile generation 2",
    ],
    [
      "without any status as in progress",
      { metadata: { generation: 1 } },
      "Progressing: Waiting for the operator to reconcile generation 1",
    ],
    ["that is Ready as healthy", compute(active), "Healthy: Active: It is Active."],
    [
      "that was Ready before the last edit as in progress",
      compute(active, { generation: 3 }),
      "Progressing: Waiting for the operator to reconcile generation 3",
    ],
    [
      "that is Ready and drifted as healthy",
      compute([condition("Ready", "True", "Drifted"), condition("Synced", "False", "Drifted")]),
      "Healthy: Drifted: It is Drifted.",
    ],
    [
      "that is being made as in progress",
      compute([condition("Ready", "False", "Creating"), condition("Reconciling", "True", "Creating")]),
      "Progressing: Creating: It is Creating.",
    ],
    [
      "that only a person can help as degraded",
      compute([condition("Ready", "False", "Conflict"), condition("Stalled", "True", "Conflict")]),
      "Degraded: Conflict: It is Conflict.",
    ],
    [
      "that is not seen as in progress, with the message of Ready",
      compute([
        condition("Ready", "False", "ServiceUnavailable"),
        condition("Synced", "Unknown", "ServiceUnavailable"),
        { ...condition("Reconciling", "True", "ServiceUnavailable"), message: "In progress." },
      ]),
      "Progressing: ServiceUnavailable: It is ServiceUnavailable.",
    ],
    [
      "whose connection's key is refused as degraded",
      compute([condition("Ready", "False", "Unauthorized"), condition("Stalled", "True", "Unauthorized")]),
      "Degraded: Unauthorized: It is Unauthorized.",
    ],
    [
      "whose pause has just ended, and that was not ready, as in progress",
      compute([condition("Ready", "False", "Paused"), condition("Synced", "True", "Paused")]),
      "Progressing: Paused: It is Paused.",
    ],
    [
      "that is not paused as it is",
      compute(active, { metadata: { annotations: { "compute-operator.dev/paused": "false" } } }),
      "Healthy: Active: It is Active.",
    ],
    [
      "that is paused by any other value as suspended",
      compute(active, { metadata: { annotations: { "compute-operator.dev/paused": "yes" } } }),
      "Suspended: Paused: nothing is sent to the service",
    ],
    [
      "that ended as declared as healthy, with a message that begins with Expired",
      compute([
        { ...condition("Expired", "True", "Expired"), message: "Expired: the branch came to its end." },
        condition("Synced", "True", "Expired"),
      ]),
      "Healthy: Expired: the branch came to its end.",
    ],
    [
      "that is paused after its end as suspended once the operator shows it",
      compute([condition("Expired", "True", "Paused"), condition("Synced", "Unknown", "Paused")], {
        metadata: { annotations: { "compute-operator.dev/paused": "2026-11-24T18:00:00Z" } },
      }),
      "Suspended: Paused: nothing is sent to the service",
    ],
    [
      "that is paused until a time as suspended once the operator shows it",
      compute([condition("Ready", "True", "Paused")], {
        metadata: { annotations: { "compute-operator.dev/paused": "2026-11-24T18:00:00Z" } },
      }),
      "Suspended: Paused: nothing is sent to the service",
    ],
    [
      "whose pause until a time is over as it is",
      compute(active, { metadata: { annotations: { "compute-operator.dev/paused": "2026-11-24T18:00:00Z" } } }),
      "Healthy: Active: It is Active.",
    ],
    [
      "that is paused as suspended",
      compute(active, { metadata: { annotations: { "compute-operator.dev/paused": "true" } } }),
      "Suspended: Paused: nothing is sent to the service",
    ],
    [
      "that is being deleted as in progress",
      compute(active, { metadata: { deletionTimestamp: "2026-01-02T03:04:05Z" } }),
      "Progressing: Being deleted",
    ],
    [
      "that is being deleted while it is paused as in progress",
      compute(active, {
        metadata: { annotations: { "compute-operator.dev/paused": "true" }, deletionTimestamp: "2026-01-02T03:04:05Z" },
      }),
      "Progressing: Being deleted",
    ],
    [
      "with generation and no report as in progress",
      compute([]),
      "Progressing: Waiting for the operator's first report",
    ],
  ])("%s", async (_, object, shown) => {
    expect(await health(object)).toBe(shown);
  });
});

it("Argo CD does not see a connection as suspended by an annotation that only a Compute has", async () => {
  const metadata = { generation: 1, annotations: { "compute-operator.dev/paused": "true" } };
  const connection = { kind: "ServiceConnection", metadata, status: { observedGeneration: 1, conditions: active } };
  expect(await health(connection)).toBe("Healthy: Active: It is Active.");
});
