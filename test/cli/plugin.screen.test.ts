import { expect, test } from "vitest";
import type { Found } from "../../src/cli/plugin/objects.ts";
import { isReady, screenOf } from "../../src/cli/plugin/screen.ts";
import type { Parsed } from "../../src/operator/objects/object.ts";
import { parseBranch } from "../../src/operator/resources/branch.ts";
import { parseCompute } from "../../src/operator/resources/compute.ts";
import { parseComputePool } from "../../src/operator/resources/compute-pool.ts";
import { annotations } from "../../src/operator/resources/names.ts";
import { parseServiceConnection } from "../../src/operator/resources/service-connection.ts";

interface Given {
  metadata?: object;
  spec?: object;
  status?: object;
}

const began = "2026-01-01T00:00:00Z";
const after = (seconds: number) => new Date(Date.parse(began) + seconds * 1000).toISOString();

function read<T>(parse: (raw: unknown) => Parsed<T>, kind: string, { metadata, spec, status }: Given): T {
  const named = { name: "a", namespace: "shop", uid: "u-1", resourceVersion: "1", generation: 2, ...metadata };
  const parsed = parse({ apiVersion: "compute-operator.dev/v1alpha1", kind, metadata: named, spec, status });
  if (!parsed.ok) throw new Error(parsed.problem);
  return parsed.value;
}

const compute = ({ spec, ...rest }: Given = {}): Found => {
  const declared = { projectID: "shop-one", branchID: "br-main", ...spec };
  return { kind: "Compute", object: read(parseCompute, "Compute", { ...rest, spec: declared }) };
};
const branch = ({ spec, ...rest }: Given = {}): Found => {
  const declared = { projectID: "shop-one", expiry: { never: true }, ...spec };
  return { kind: "Branch", object: read(parseBranch, "Branch", { ...rest, spec: declared }) };
};
const pool = (given: Given = {}): Found => {
  const spec = { replicas: 3, template: { projectID: "shop-one", branchID: "br-main" } };
  return { kind: "ComputePool", object: read(parseComputePool, "ComputePool", { ...given, spec }) };
};
const connection = (given: Given = {}): Found => {
  const spec = { baseURL: "https://service.example.com/api/v2", apiKeySecretRef: { name: "key" } };
  return { kind: "ServiceConnection", object: read(parseServiceConnection, "ServiceConnection", { ...given, spec }) };
};

const condition = (type: string, status: string, reason = "Active") => ({
  type,
  status,
  reason,
  message: "So it is.",
  lastTransitionTime: began,
});
const ready = { conditions: [condition("Ready", "True")] };

/** The texts of the rows with this label. */
const rowsOf = (found: Found, label: string, seconds = 0) =>
  screenOf(found, Date.parse(after(seconds)))
    .split("\n")
    .flatMap((line) => (line.startsWith(`  ${label} `) ? [line.slice(label.length + 2).trim()] : []));

test.each<[string, Found, string]>([
  ["a Compute that nothing is known of", compute(), "NotCreated, read_write, branch br-main, project shop-one"],
  [
    "a Compute that has its endpoint",
    compute({
      spec: { branchID: undefined, branchName: "main" },
      status: { state: "Active", size: "1 CU", endpointID: "ep-1" },
    }),
    "Active, read_write, 1 CU, branch main, project shop-one, ep-1",
  ],
  ["a Branch that nothing is known of", branch({ spec: { branchName: "pr-1" } }), "pr-1, project shop-one"],
  [
    "a Branch with an end, by the name that the service shows",
    branch({
      spec: { branchName: "pr-1" },
      status: { state: "Ready", branchName: "pr-one", branchID: "br-1", expiresAt: after(60) },
    }),
    `Ready, pr-one, br-1, project shop-one, ends ${after(60)}`,
  ],
  ["a pool that nothing is known of", pool(), "0 of 3 read replicas ready, project shop-one"],
  ["a pool", pool({ status: { readyReplicas: 2 } }), "2 of 3 read replicas ready, project shop-one"],
  ["a connection that nothing is known of", connection(), "https://service.example.com/api/v2, key unknown"],
  [
    "a connection",
    connection({ status: { keyType: "personal", projectCount: 4 } }),
    "https://service.example.com/api/v2, key personal, 4 projects",
  ],
  [
    "a connection to no project",
    connection({ status: { keyType: "personal", projectCount: 0 } }),
    "https://service.example.com/api/v2, key personal, 0 projects",
  ],
  [
    "a connection to one project",
    connection({ status: { keyType: "organization", projectCount: 1 } }),
    "https://service.example.com/api/v2, key organization, 1 project",
  ],
])("%s is said in one line", (_, found, line) => {
  expect(rowsOf(found, "what")).toEqual([line]);
});

test.each<[string, Given, string, string]>([
  ["not seen by the operator", {}, "unknown", "the operator has written no status yet"],
  [
    "not seen by the operator",
    { metadata: { creationTimestamp: after(-90) } },
    `1m30s (${after(-90)})`,
    "the operator has written no status yet",
  ],
  ["ready", { metadata: { creationTimestamp: after(-90) }, status: ready }, `0s (${began})`, "Active: So it is."],
  [
    "not ready",
    { status: { conditions: [condition("Ready", "False", "Creating")] } },
    `0s (${began})`,
    "Creating: So it is.",
  ],
  [
    "not ready",
    { status: { conditions: [condition("Ready", "Unknown", "ServiceUnavailable")] } },
    `0s (${began})`,
    "ServiceUnavailable: So it is.",
  ],
])("an object that is %s says since when and why", (state, given, since, why) => {
  const found = compute(given);
  expect(screenOf(found, Date.parse(began)).split("\n")[0]).toBe(`Compute shop/a is ${state}`);
  expect([rowsOf(found, "since"), rowsOf(found, "why")]).toEqual([[since], [why]]);
});

test.each<[number, string]>([
  [-5, "0s"],
  [59.6, "1m"],
  [3599, "59m59s"],
  [3600, "1h"],
  [3725, "1h2m"],
  [2 * 86_400 - 1, "47h59m"],
  [2 * 86_400, "2d"],
  [4 * 86_400 - 1, "3d"],
])("a state that began %d seconds ago is there since %s", (seconds, words) => {
  expect(rowsOf(compute({ status: ready }), "since", seconds)).toEqual([`${words} (${began})`]);
});

const seen = { ...ready, observedGeneration: 2 };
const paused = (value: string) => ({ metadata: { annotations: { [annotations.paused]: value } }, status: seen });
const stalled = { conditions: [condition("Ready", "False"), condition("Stalled", "True")] };
const failing = (reason: string): Given => ({
  status: {
    conditions: [condition("Ready", "False", reason), condition("Reconciling", "True")],
    observedGeneration: 2,
  },
});
const over = [condition("Expired", "True", "Expired"), condition("Synced", "True", "Expired")];
const ended = { status: { conditions: over, observedGeneration: 2 } };
const changing = { conditions: [condition("Ready", "True"), condition("Reconciling", "True")] };

test.each<[string, Found, string]>([
  ["a Compute that is paused without end", compute(paused("true")), "nothing until resume: it is paused"],
  ["a Branch that is paused without end", branch(paused("true")), "nothing until resume: it is paused"],
  ["a Compute that is paused for a time", compute(paused(after(90))), "goes on in 1m30s: it is paused"],
  ["a Branch that is paused for a time", branch(paused(after(90))), "goes on in 1m30s: it is paused"],
  ["a Compute whose pause has ended", compute(paused(began)), "nothing to do"],
  ["a pool, which no annotation pauses", pool(paused("true")), "nothing to do"],
  [
    "a Compute that is being deleted, whatever was edited",
    compute({ metadata: { deletionTimestamp: began }, status: ready }),
    "it goes once its deletion is done",
  ],
  [
    "a Compute whose deletion cannot go on",
    compute({ metadata: { deletionTimestamp: began }, status: { ...stalled, observedGeneration: 2 } }),
    "a person has to act, as the message says",
  ],
  ["a Compute that no version was seen of", compute({ status: ready }), "the operator takes up the last edit"],
  [
    "a Compute that is edited after it stalled",
    compute({ status: { ...stalled, observedGeneration: 1 } }),
    "the operator takes up the last edit",
  ],
  [
    "a Compute that is stalled",
    compute({ status: { ...stalled, observedGeneration: 2 } }),
    "a person has to act, as the message says",
  ],
  [
    "a Compute that is ready and being changed",
    compute({ status: { ...changing, observedGeneration: 2 } }),
    "the operator goes on without you",
  ],
  [
    "a Compute that is not ready",
    compute({ status: { conditions: [condition("Ready", "False")], observedGeneration: 2 } }),
    "the operator goes on without you",
  ],
  [
    "a Compute that is suspended",
    compute({ status: { conditions: [condition("Ready", "True", "Idle")], observedGeneration: 2 } }),
    "nothing to do: the first connection wakes it",
  ],
  ...(["Unauthorized", "Forbidden", "ConnectionNotFound", "ProjectNotFound", "BranchNotFound"] as const).flatMap(
    (reason): [string, Found, string][] => [
      [
        `a Compute that is ${reason} for a moment`,
        compute(failing(reason)),
        "a person has to act, as the message says",
      ],
      [`a Branch that is ${reason} for a moment`, branch(failing(reason)), "a person has to act, as the message says"],
      [`a pool whose replicas are ${reason}`, pool(failing(reason)), "a person has to act, as the message says"],
    ],
  ),
  [
    "a Compute whose deletion a refused key stops",
    compute({ metadata: { deletionTimestamp: began }, ...failing("Unauthorized") }),
    "a person has to act, as the message says",
  ],
  ...(["ConnectionNotReady", "BranchNotReady", "OperationFailed"] as const).map((reason): [string, Found, string] => [
    `a Compute that is ${reason}`,
    compute(failing(reason)),
    "it continues once what the message names is done",
  ]),
  ["a Branch that is in use", branch(failing("InUse")), "it continues once what the message names is done"],
  [
    "a connection without its Secret",
    connection(failing("SecretNotFound")),
    "it continues once what the message names is done",
  ],
  ["a connection without an answer", connection(failing("Unreachable")), "the operator goes on without you"],
  ["a Compute with a reason of another version", compute(failing("Pondering")), "the operator goes on without you"],
  ["a Compute that the service holds up", compute(failing("RateLimited")), "the operator goes on without you"],
  ["a pool that scales", pool(failing("Scaling")), "the operator goes on without you"],
  [
    "a paused Compute that is being deleted",
    compute({ ...paused("true"), metadata: { ...paused("true").metadata, deletionTimestamp: began } }),
    "it stays until resume: it is paused",
  ],
  [
    "a Branch that is being deleted and paused for a time",
    branch({ ...paused(after(90)), metadata: { ...paused(after(90)).metadata, deletionTimestamp: began } }),
    "its deletion goes on in 1m30s: it is paused",
  ],
  ["a Branch that ended as declared", branch(ended), "nothing to do"],
  [
    "a Compute that was seen newer than this copy",
    compute({ status: { ...ready, observedGeneration: 3 } }),
    "nothing to do",
  ],
  [
    "a Compute that only observes",
    compute({ status: { observedGeneration: 2, conditions: [condition("Ready", "True", "Observed")] } }),
    "nothing is sent until spec.managementPolicy is Manage",
  ],
  [
    "a Branch that is only observed",
    branch({ status: { observedGeneration: 2, conditions: [condition("Ready", "True", "Observed")] } }),
    "nothing to do",
  ],
])("%s says what comes next", (_, found, next) => {
  expect(rowsOf(found, "next")).toEqual([next]);
});

test.each<[string, Found, string, boolean]>([
  ["a paused Compute", compute(paused("true")), "Compute shop/a is ready, and paused", true],
  ["a Compute whose pause has ended", compute(paused(began)), "Compute shop/a is ready", true],
  [
    "a Compute that is being deleted",
    compute({ metadata: { deletionTimestamp: began }, status: seen }),
    "Compute shop/a is being deleted",
    false,
  ],
  [
    "a paused Branch that is being deleted",
    branch({ ...paused("true"), metadata: { ...paused("true").metadata, deletionTimestamp: began } }),
    "Branch shop/a is being deleted, and paused",
    false,
  ],
  [
    "a Compute that was paused before it was seen",
    compute({ metadata: paused("true").metadata }),
    "Compute shop/a is not seen by the operator, and paused",
    false,
  ],
  ["a Branch that ended as declared", branch(ended), "Branch shop/a is at its end", false],
  ["a pool, which no annotation pauses", pool(paused("true")), "ComputePool shop/a is ready", true],
])("%s is called so in the first line", (_, found, line, isFit) => {
  expect(screenOf(found, Date.parse(began)).split("\n")[0]).toBe(line);
  expect(isReady(found)).toBe(isFit);
});

const asked = (name: "restartedAt" | "resetAt") => ({ annotations: { [annotations[name]]: "noon" } });
const secret = { name: "shop-db", database: "shop", role: "app" };
const operation = (nth: number, times: object) => ({
  id: `op-${nth}`,
  action: `step_${nth}`,
  status: "running",
  ...times,
});

test.each<[string, Found, string, string[]]>([
  ["the host of a Compute", compute({ status: { host: "ep-1.example.com" } }), "host", ["ep-1.example.com"]],
  ["no host before there is one", compute(), "host", []],
  ["no Secret where none is asked for", compute(), "secret", []],
  ["the Secret that a Compute asks for", compute({ spec: { connectionSecret: secret } }), "secret", ["shop-db"]],
  [
    "the Secret that was written, rather than the one that is asked for",
    compute({ spec: { connectionSecret: secret }, status: { binding: { name: "shop-old" } } }),
    "secret",
    ["shop-old"],
  ],
  [
    "the Secret of another namespace",
    compute({ spec: { connectionSecret: { ...secret, namespace: "app" } } }),
    "secret",
    ["app/shop-db"],
  ],
  [
    "the Secret that stands in another namespace, rather than the one that is asked for",
    compute({ spec: { connectionSecret: secret }, status: { connectionSecret: { namespace: "app", name: "old" } } }),
    "secret",
    ["app/old"],
  ],
  [
    "the entry of the schedule in force, and its end",
    compute({ status: { schedule: { active: "office", until: after(7200) } } }),
    "schedule",
    [`office until ${after(7200)} (in 2h)`],
  ],
  ["that no entry is in force", compute({ status: { schedule: { active: "" } } }), "schedule", ["no entry in force"]],
  [
    "the changes that wait for a window",
    compute({ status: { waiting: [{ field: "computeUnits.max", ours: "8" }] } }),
    "waits",
    ["computeUnits.max 8"],
  ],
  [
    "when a change goes that waits, and how it goes at once",
    compute({
      status: {
        ...ready,
        conditions: [condition("Ready", "True", "WaitingForWindow")],
        nextWindow: after(3600),
        observedGeneration: 2,
      },
    }),
    "next",
    [`the change goes when a window opens, ${after(3600)} (in 1h); at once with: disrupt a --for 30m`],
  ],
  [
    "until when connections may be cut",
    compute({ metadata: { annotations: { [annotations.disruptionUntil]: after(1800) } } }),
    "disrupt",
    [`connections may be cut until ${after(1800)} (in 30m)`],
  ],
  [
    "no leave to cut connections that is over",
    compute({ metadata: { annotations: { [annotations.disruptionUntil]: after(-1) } } }),
    "disrupt",
    [],
  ],
  ["when a compute was active", compute({ status: { lastActive: after(-60) } }), "active", [`1m (${after(-60)})`]],
  ["a time that cannot be read as it is written", compute({ status: { lastActive: "noon" } }), "active", ["noon"]],
  [
    "a restart that was asked for",
    compute({ metadata: asked("restartedAt") }),
    "asked",
    ["restart noon, not carried out yet"],
  ],
  [
    "no restart that was carried out",
    compute({ metadata: asked("restartedAt"), status: { restartedAt: "noon" } }),
    "asked",
    [],
  ],
  [
    "a restart that was asked for after another",
    compute({ metadata: asked("restartedAt"), status: { restartedAt: "dawn" } }),
    "asked",
    ["restart noon, not carried out yet"],
  ],
  ["a reset that was asked for", branch({ metadata: asked("resetAt") }), "asked", ["reset noon, not carried out yet"]],
  ["no reset that was carried out", branch({ metadata: asked("resetAt"), status: { resetAt: "noon" } }), "asked", []],
  ["no reset of a Compute, which has none", compute({ metadata: asked("resetAt") }), "asked", []],
  ["a restart of a pool", pool({ metadata: asked("restartedAt") }), "asked", ["restart noon, not carried out yet"]],
  ["no restart of a Branch, which has none", branch({ metadata: asked("restartedAt") }), "asked", []],
  [
    "the first four operations, by when they last changed",
    compute({
      status: {
        operations: [
          operation(1, { createdAt: after(-90), updatedAt: after(-60) }),
          operation(2, { createdAt: after(-90) }),
          operation(3, {}),
          operation(4, {}),
          operation(5, {}),
        ],
      },
    }),
    "operation",
    [`step_1 running, 1m (${after(-60)})`, `step_2 running, 1m30s (${after(-90)})`, "step_3 running", "step_4 running"],
  ],
])("a screen shows %s", (_, found, label, rows) => {
  expect(rowsOf(found, label)).toEqual(rows);
});

test("what others wrote into a status is shown, and not obeyed by the terminal", () => {
  const hostile = { ...condition("Ready", "False"), message: "\u001b[2Jgone\u009b1A\nCompute shop/a is ready" };
  const page = screenOf(compute({ status: { conditions: [hostile], host: "\u001b]0;x\u0007" } }), Date.parse(after(1)));
  expect(page).toContain("why    Active:  [2Jgone 1A Compute shop/a is ready\n");
  expect(page.replaceAll("\n", "")).not.toMatch(/\p{Cc}/u);
});
