import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { type Row, reasons, rowOf } from "../../../../src/operator/compute/words/reasons.ts";
import { type RetryPace, requeueDelay } from "../../../../src/operator/conditions/rows.ts";

test("reason → Ready, Synced, Reconciling, Stalled, next reconcile", () => {
  const lines = Object.entries(reasons).map(([reason, { ready, synced, reconciling, stalled, requeue }]) =>
    [
      reason.padEnd(19),
      ready.padEnd(5),
      synced.padEnd(8),
      reconciling ? (stalled === "later" ? "later-stalled" : "reconciling") : stalled === true ? "stalled" : "-",
      requeue,
    ].join(" "),
  );
  expect(Object.keys(reasons).map(rowOf)).toEqual(Object.values(reasons));
  expect(`\n${lines.join("\n")}\n`).toMatchInlineSnapshot(`
    "
    Active              True  True     - refresh
    Idle                True  True     - refresh
    Disabled            True  True     - refresh
    Drifted             True  False    - refresh
    Observed            True  compared - refresh
    WaitingForWindow    True  False    - refresh
    WaitingForTurn      True  compared - patient
    Creating            False False    reconciling progress
    Starting            False True     reconciling progress
    Updating            False False    reconciling progress
    Moving              False False    reconciling progress
    Restarting          False True     reconciling progress
    Deleting            False False    reconciling progress
    ProjectBusy         False False    reconciling backoff
    RateLimited         False compared reconciling backoff
    ServiceUnavailable  False compared reconciling backoff
    CreateUnknown       False False    reconciling backoff
    Unauthorized        False compared later-stalled slow
    Forbidden           False compared later-stalled patient
    ConnectionNotFound  False compared later-stalled slow
    ConnectionNotReady  False compared reconciling slow
    ProjectNotFound     False compared later-stalled patient
    BranchNotFound      False False    later-stalled patient
    Expired             ended True     - refresh
    BranchNotReady      False False    reconciling patient
    PrimaryExists       False False    stalled slow
    FormerMembers       False False    stalled slow
    AdoptionRefused     False False    stalled slow
    Conflict            False False    stalled slow
    Rejected            False False    stalled slow
    MovedOutside        False False    stalled slow
    SecretNotAllowed    False False    stalled slow
    OperationFailed     False False    reconciling slow
    EndpointLost        False False    reconciling progress
    MassLoss            False False    stalled slow
    Paused              kept  compared - refresh
    "
  `);
});

test("reason → whether its connection reaches the project, an error of plan, what apply does, and whether it retries", () => {
  const lines = Object.entries<Row>(reasons).map(([reason, { reaches = "yes", planError, apply, retryWrite }]) =>
    [
      reason.padEnd(19),
      reaches.padEnd(6),
      (planError ? "error" : "-").padEnd(6),
      apply.padEnd(5),
      retryWrite ? "retried" : "-",
    ].join(" "),
  );
  expect(Object.keys(reasons).map(rowOf)).toEqual(Object.values(reasons));
  expect(`\n${lines.join("\n")}\n`).toMatchInlineSnapshot(`
    "
    Active              yes    -      wait  -
    Idle                yes    -      wait  -
    Disabled            yes    -      wait  -
    Drifted             yes    -      wait  -
    Observed            yes    -      wait  -
    WaitingForWindow    yes    -      wait  -
    WaitingForTurn      yes    -      wait  -
    Creating            yes    -      wait  -
    Starting            yes    -      wait  -
    Updating            yes    -      wait  -
    Moving              yes    -      wait  -
    Restarting          yes    -      wait  -
    Deleting            yes    -      wait  -
    ProjectBusy         yes    -      wait  retried
    RateLimited         first  error  wait  retried
    ServiceUnavailable  first  error  wait  retried
    CreateUnknown       yes    -      wait  retried
    Unauthorized        no     error  fail  -
    Forbidden           no     error  fail  -
    ConnectionNotFound  no     error  wait  -
    ConnectionNotReady  no     error  fail  -
    ProjectNotFound     no     error  fail  -
    BranchNotFound      yes    -      fail  -
    Expired             yes    -      done  -
    BranchNotReady      yes    -      fail  -
    PrimaryExists       yes    -      wait  retried
    FormerMembers       yes    -      wait  -
    AdoptionRefused     yes    -      wait  -
    Conflict            yes    -      wait  -
    Rejected            yes    -      wait  -
    MovedOutside        yes    -      wait  -
    SecretNotAllowed    yes    -      wait  -
    OperationFailed     yes    error  fail  -
    EndpointLost        yes    -      wait  -
    MassLoss            yes    -      wait  -
    Paused              no     -      done  -
    "
  `);
});

test("each is brought about on the real control plane by a test that begins with its name", () => {
  const directory = "test/integration/conditions";
  const files = readdirSync(directory).filter((name) => name.endsWith(".cluster.test.ts"));
  const text = files.map((name) => readFileSync(`${directory}/${name}`, "utf8")).join("\n");
  const named = [...text.matchAll(/^ +(?:it\(|\)\(\n +|it\.each\(.*\)\(\n +)"([A-Za-z]+)/gm)].map(([, name]) => name);
  expect(Object.keys(reasons).filter((reason) => !named.includes(reason))).toEqual([]);
});

test("no reason has a Compute both going on and stuck, and none that is ready is either", () => {
  for (const { ready, reconciling, stalled } of Object.values(reasons)) {
    const reported = [reconciling, stalled === true].filter(Boolean).length;
    expect(reported).toBe(ready === "False" ? 1 : 0);
  }
});

describe("the next reconcile", () => {
  test.each([
    ["refresh", [undefined, undefined]],
    ["progress", [500, 800, 1280, 2048]],
    ["backoff", [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]],
    ["patient", [5000, 10_000, 20_000, 40_000, 80_000, 160_000, 300_000, 300_000]],
    ["slow", [60_000, 120_000, 240_000, 480_000, 960_000, 1_920_000, 3_600_000, 3_600_000]],
  ] as const)("by %s comes after %j ms", (requeue: RetryPace, delays) => {
    const rounded = (ms: number | undefined) => (ms === undefined ? undefined : Math.round(ms));
    expect(delays.map((_, before) => rounded(requeueDelay(requeue, before)))).toEqual(delays);
  });
});
