import { expect, test } from "vitest";
import { branchReasons, isTroublesome } from "../../../src/operator/branch/reasons.ts";

test("reason → Ready, Synced, Reconciling, Stalled, next reconcile, whether it is a warning", () => {
  const lines = Object.entries(branchReasons).map(([reason, { ready, synced, reconciling, stalled, requeue }]) =>
    [
      reason.padEnd(18),
      ready.padEnd(5),
      synced.padEnd(8),
      reconciling ? (stalled === "later" ? "later-stalled" : "reconciling") : stalled === true ? "stalled" : "-",
      requeue,
      isTroublesome(reason) ? "warning" : "-",
    ].join(" "),
  );
  expect(`\n${lines.join("\n")}\n`).toMatchInlineSnapshot(`
    "
    Available          True  True     - refresh -
    Observed           True  compared - refresh -
    Drifted            True  False    - refresh warning
    Creating           False False    reconciling progress -
    Updating           False False    reconciling progress -
    Resetting          False False    reconciling progress -
    Deleting           False False    reconciling progress -
    InUse              False False    reconciling patient warning
    HasChildren        False False    reconciling patient warning
    CreateUnknown      False False    reconciling backoff warning
    ProjectBusy        False False    reconciling backoff warning
    OperationFailed    False False    reconciling slow warning
    RateLimited        False compared reconciling backoff warning
    ServiceUnavailable False compared reconciling backoff warning
    Unauthorized       False compared later-stalled slow warning
    Forbidden          False compared later-stalled patient warning
    ConnectionNotFound False compared later-stalled slow warning
    ConnectionNotReady False compared reconciling slow warning
    ProjectNotFound    False compared later-stalled patient warning
    BranchNotFound     False False    later-stalled patient warning
    BranchExists       False False    stalled slow warning
    AdoptionRefused    False False    stalled slow warning
    Conflict           False False    stalled slow warning
    Protected          False False    stalled slow warning
    Rejected           False False    stalled slow warning
    Expired            ended True     - refresh -
    BranchLost         False False    stalled refresh warning
    Paused             kept  compared - refresh -
    "
  `);
});

test.each([undefined, "Unheard", "toString"])(
  "a reason that this version does not know is no trouble: %s",
  (reason) => {
    expect(isTroublesome(reason)).toBe(false);
  },
);

test("no reason has a Branch both going on and stuck, and none that is ready is either", () => {
  for (const { ready, reconciling, stalled } of Object.values(branchReasons)) {
    const reported = [reconciling, stalled === true].filter(Boolean).length;
    expect(reported).toBe(ready === "False" ? 1 : 0);
  }
});
