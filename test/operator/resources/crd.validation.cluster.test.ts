import { beforeAll, describe, expect, it } from "vitest";
import { createNamespace, kubectl, tryKubectl } from "../../control-plane/shared-control-plane.ts";
import { type Answer, applyAll as applyAllIn, type Named } from "./apply-all.ts";
import { changeCases } from "./change-cases.ts";
import { type Fields, type Kind, manifest } from "./manifest.ts";
import { celCases, fieldCases } from "./rule-cases.ts";

let namespace = "";
beforeAll(async () => {
  namespace = await createNamespace("validation");
});

const applyAll = (objects: readonly Named[], ...flags: string[]) => applyAllIn(namespace, objects, ...flags);

const ruleCases = [...fieldCases, ...celCases].map((row, index) => ({ ...row, name: `case-${index}` }));
const changes = changeCases.map((row, index) => ({ ...row, name: `change-${index}` }));

/** Each case as a manifest, with the fields that it has under `which`. */
function pick<K extends string>(cases: readonly (Omit<Named, "fields"> & Record<K, Fields>)[], which: K): Named[] {
  return cases.map((row) => ({ kind: row.kind, name: row.name, fields: row[which] }));
}

/** The object as stored, of a manifest with `fields` laid over the least that passes. */
async function stored(kind: Kind, fields: Fields = {}) {
  const input = JSON.stringify(manifest(kind, fields, `defaults-${kind.toLowerCase()}`));
  const text = await kubectl(["create", "-n", namespace, "-f", "-", "-o", "json"], { input });
  const { spec, status }: { spec: unknown; status: unknown } = JSON.parse(text);
  return { spec, status };
}

describe("a manifest", () => {
  let refused: Answer;
  let passed: Answer;
  beforeAll(async () => {
    refused = await applyAll(pick(ruleCases, "refused"), "--dry-run=server");
    passed = await applyAll(pick(ruleCases, "passes"), "--dry-run=server");
  });

  it.each(ruleCases)("a manifest is refused, with what is allowed, unless $rule ($kind)", ({ name, message }) => {
    expect(refused.done(name)).toBe("");
    expect(refused.refused(name)).toMatch(message);
    expect(passed.refused(name)).toBe("");
    expect(passed.done(name)).toContain("created (server dry run)");
  });

  it("a ComputePool is refused where its name does not fit into a label", async () => {
    const names = ["a".repeat(58), "b".repeat(57)];
    const answer = await applyAll(
      names.map((name) => ({ kind: "ComputePool" as const, name, fields: {} })),
      "--dry-run=server",
    );
    expect(answer.refused("a".repeat(58))).toContain("a ComputePool's name takes at most 57 characters");
    expect(answer.done("b".repeat(57))).toContain("created");
  });

  it("a manifest with a field that does not exist is refused by kubectl, naming the field", async () => {
    const input = JSON.stringify(manifest("Compute", { computeUnit: 1 }, "misspelt"));
    const { stderr } = await tryKubectl(["apply", "-n", namespace, "-f", "-"], { input });
    expect(stderr).toContain('unknown field "spec.computeUnit"');
  });
});

describe("a change", () => {
  let refused: Answer;
  let passed: Answer;
  beforeAll(async () => {
    await applyAll(pick(changes, "from"));
    refused = await applyAll(pick(changes, "refused"));
    passed = await applyAll(pick(changes, "passes"));
  });

  it.each(changes)("a change is refused because $rule, and another passes ($kind)", ({ name, message }) => {
    expect(refused.refused(name)).toContain(message);
    expect(passed.refused(name)).toBe("");
    expect(passed.done(name)).toMatch(/configured|unchanged/);
  });
});

it("the API server fills in a Compute's connection, type and drift policy; nothing that the service decides", async () => {
  expect(await stored("Compute")).toEqual({
    spec: {
      projectID: "shiny-wind-028834",
      branchID: "br-aged-salad-637688",
      connectionRef: { kind: "ServiceConnection", name: "default" },
      type: "read_write",
      driftPolicy: "Correct",
    },
    status: { observedGeneration: -1 },
  });
});

it("the API server fills in a ServiceConnection's key, interval and budget, the half-given budget too", async () => {
  expect(await stored("ServiceConnection", { requestBudget: { burst: 5 } })).toEqual({
    spec: {
      baseURL: "https://console.example.com/api/v2",
      apiKeySecretRef: { name: "service", key: "api-key" },
      refreshInterval: "30s",
      requestBudget: { perMinute: 700, burst: 5 },
    },
    status: { observedGeneration: -1 },
  });
});

it("the API server fills in for a ComputePool what it fills in for a Compute, but the type", async () => {
  expect(await stored("ComputePool")).toEqual({
    spec: {
      replicas: 2,
      template: {
        projectID: "shiny-wind-028834",
        branchID: "br-aged-salad-637688",
        connectionRef: { kind: "ServiceConnection", name: "default" },
        driftPolicy: "Correct",
      },
    },
    status: { observedGeneration: -1 },
  });
});
