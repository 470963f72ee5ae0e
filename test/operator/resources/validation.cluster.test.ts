import { beforeAll, describe, expect, it } from "vitest";
import { createNamespace, kubectl, tryKubectl } from "../../control-plane/cluster.ts";
import { changeCases } from "./change-cases.ts";
import { type Fields, type Kind, manifest } from "./manifest.ts";
import { celCases, fieldCases } from "./rule-cases.ts";

// One kubectl for many manifests, each with a name of its own: its answer says of each what became of it.

let namespace = "";
beforeAll(async () => {
  namespace = await createNamespace("validation");
});

interface Named {
  readonly kind: Kind;
  readonly name: string;
  readonly fields: Fields;
}

async function applyAll(objects: readonly Named[], ...flags: string[]) {
  const items = objects.map(({ kind, name, fields }) => manifest(kind, fields, name));
  const input = JSON.stringify({ apiVersion: "v1", kind: "List", items });
  const { stdout, stderr } = await tryKubectl(["apply", "-n", namespace, "-f", "-", ...flags], { input });
  const lines = (text: string, name: string) =>
    text
      .split(/\n(?=Error|The )|\n(?=\w+\.compute-operator\.dev)/)
      .filter((line) => new RegExp(`["/]${name}["\\s]`).test(`${line} `));
  return {
    done: (name: string) => lines(stdout, name).join("\n"),
    refused: (name: string) => lines(stderr, name).join("\n"),
  };
}

type Answer = Awaited<ReturnType<typeof applyAll>>;

describe("a manifest", () => {
  const cases = [...fieldCases, ...celCases].map((row, index) => ({ ...row, name: `case-${index}` }));
  let refused: Answer;
  let passed: Answer;
  beforeAll(async () => {
    const all = (which: "refused" | "passes") =>
      cases.map(({ kind, name, ...row }) => ({ kind, name, fields: row[which] }));
    refused = await applyAll(all("refused"), "--dry-run=server");
    passed = await applyAll(all("passes"), "--dry-run=server");
  });

  it.each(cases)("is refused, with what is allowed, unless $rule ($kind)", ({ name, message }) => {
    expect(refused.done(name)).toBe("");
    expect(refused.refused(name)).toMatch(message);
    expect(passed.refused(name)).toBe("");
    expect(passed.done(name)).toContain("created (server dry run)");
  });

  it("of a ComputePool is refused where its name does not fit into a label", async () => {
    const names = ["a".repeat(58), "b".repeat(57)];
    const answer = await applyAll(
      names.map((name) => ({ kind: "ComputePool" as const, name, fields: {} })),
      "--dry-run=server",
    );
    expect(answer.refused("a".repeat(58))).toContain("a ComputePool's name takes at most 57 characters");
    expect(answer.done("b".repeat(57))).toContain("created");
  });

  it("with a field that does not exist is refused by kubectl, naming the field", async () => {
    const answer = await applyAll(
      [{ kind: "Compute", name: "misspelt", fields: { computeUnit: 1 } }],
      "--dry-run=server",
    );
    expect(answer.refused("misspelt")).toContain('unknown field "spec.computeUnit"');
  });
});

describe("a change", () => {
  const cases = changeCases.map((row, index) => ({ ...row, name: `change-${index}` }));
  let refused: Answer;
  let passed: Answer;
  beforeAll(async () => {
    const all = (which: "from" | "refused" | "passes") =>
      cases.map(({ kind, name, ...row }) => ({ kind, name, fields: row[which] }));
    await applyAll(all("from"));
    refused = await applyAll(all("refused"));
    passed = await applyAll(all("passes"));
  });

  it.each(cases)("is refused because $rule, and another passes ($kind)", ({ name, message }) => {
    expect(refused.refused(name)).toContain(message);
    expect(passed.refused(name)).toBe("");
    expect(passed.done(name)).toMatch(/configured|unchanged/);
  });
});

describe("what the API server fills in", () => {
  async function stored(kind: Kind, fields: Fields = {}) {
    const input = JSON.stringify(manifest(kind, fields, `defaults-${kind.toLowerCase()}`));
    const text = await kubectl(["create", "-n", namespace, "-f", "-", "-o", "json"], { input });
    const { spec, status }: { spec: unknown; status: unknown } = JSON.parse(text);
    return { spec, status };
  }

  it("of a Compute: connection, type and the two policies; nothing that the service decides", async () => {
    expect(await stored("Compute")).toEqual({
      spec: {
        projectID: "shiny-wind-028834",
        branchID: "br-aged-salad-637688",
        connectionRef: { name: "default" },
        type: "read_write",
        deletionPolicy: "Delete",
        driftPolicy: "Correct",
      },
      status: { observedGeneration: -1 },
    });
  });

  it("of a ServiceConnection: key, interval and budget, the half-given budget too", async () => {
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

  it("of a ComputePool: what a Compute has but its type", async () => {
    expect(await stored("ComputePool")).toEqual({
      spec: {
        replicas: 2,
        template: {
          projectID: "shiny-wind-028834",
          branchID: "br-aged-salad-637688",
          connectionRef: { name: "default" },
          deletionPolicy: "Delete",
          driftPolicy: "Correct",
        },
      },
      status: { observedGeneration: -1 },
    });
  });
});
