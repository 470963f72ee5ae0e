import { describe, expect, test } from "vitest";
import { identityOf } from "../../../src/operator/branch/action.ts";
import { DeletionBrake } from "../../../src/operator/project/deletion-brake.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";
import { Acting, accepted, writes } from "./executing.ts";

const waits = "Waiting for other requests to the project. This one follows automatically.";
const held =
  "--max-branch-deletes-per-minute holds the deletion of branch br-one back, because many branches are deleted at once. Set the annotation paused on those that are to stay.";
const kinds = [
  ["Creating", writes.create],
  ["Updating", writes.patch],
  ["Resetting", writes.reset],
  ["Deleting", writes.delete],
] as const;

const ready = (reason: string, message = "as before") => ({
  status: {
    branchID: "br-one",
    observedGeneration: 1,
    conditions: [{ type: "Ready", status: "False", reason, message, lastTransitionTime: "2026-01-01T00:00:00Z" }],
  },
});

/** One whose writes wait for another write of the project, for the brake, or for the budget. */
function behind(wait: "project" | "brake" | "budget", remembered = {}) {
  const acting = new Acting({
    remembered,
    ...(wait === "brake" && { brake: new DeletionBrake(new VirtualClock(), 0) }),
    ...(wait === "budget" && { client: { limits: { perMinute: 1, burst: 0 } } }),
  });
  if (wait === "project") acting.accessOf("another").gate.pass("other");
  acting.answer = () => accepted();
  return acting;
}

describe("a write that waits for others of its project", () => {
  test.each(kinds)("says what is about to begin where the status says nothing yet: %s", async (reason, write) => {
    const acting = behind("project");
    const outcome = await acting.send(write);
    expect(outcome).toMatchObject({ condition: { reason, message: waits }, events: [] });
    expect(acting.effects).toEqual([]);
  });

  test.each(kinds)("says nothing where the status says something: %s", async (_, write) => {
    const acting = behind("project");
    expect(await acting.send(write, acting.stored(ready("Available")))).toMatchObject({
      condition: { kind: "unchanged" },
      events: [],
    });
    expect(acting.effects).toEqual([]);
  });

  test.each(kinds.filter(([reason]) => reason !== "Updating"))(
    "trouble that is over is not shown while the write waits: %s",
    async (reason, write) => {
      const acting = behind("project");
      const outcome = await acting.send(write, acting.stored(ready("ConnectionNotFound")));
      expect(outcome).toMatchObject({ condition: { reason, message: waits }, events: [] });
    },
  );

  test("trouble stays shown while a patch waits, so that its end is an event", async () => {
    const acting = behind("project");
    const object = acting.stored(ready("ConnectionNotFound"));
    expect(await acting.send(writes.patch, object)).toMatchObject({
      condition: { kind: "unchanged" },
      requeue: { kind: "enqueued" },
    });
  });

  test("a name that is taken stays shown while the create is tried again", async () => {
    const acting = behind("project");
    const object = acting.stored(ready("BranchExists"));
    acting.memory.failed = {
      write: identityOf(writes.create, object.metadata.generation ?? 0),
      fingerprint: acting.access.client.fingerprint,
      reason: "BranchExists",
      message: "",
      until: 0,
      failures: 1,
      branches: 1,
    };
    expect(await acting.send(writes.create, object)).toMatchObject({
      condition: { kind: "unchanged" },
      requeue: { kind: "enqueued" },
    });
  });

  test("a waiting write says nothing that hides what it failed for", async () => {
    const acting = behind("project");
    const object = acting.stored();
    acting.memory.failed = {
      write: identityOf(writes.patch, object.metadata.generation ?? 0),
      fingerprint: acting.access.client.fingerprint,
      reason: "ServiceUnavailable",
      message: "",
      until: 0,
      failures: 0,
      branches: 0,
    };
    expect(await acting.send(writes.patch, object)).toMatchObject({
      condition: { kind: "unchanged" },
      requeue: { kind: "enqueued" },
    });
  });

  test.each([
    ["a create", writes.create, { kind: "enqueued" }],
    ["a patch", writes.patch, { kind: "enqueued" }],
    [
      "a deletion, which may find that the brake holds it by then",
      writes.delete,
      { kind: "after", ms: 2000, needsNoNewList: true },
    ],
  ] as const)("a waiting write is enqueued when it is its turn, or asks again: %s", async (_, write, requeue) => {
    expect(await behind("project").send(write)).toMatchObject({ requeue });
  });
});

describe("a deletion that the brake holds back", () => {
  test("a deletion that is held says so in the status and as a warning, with the way to stop it", async () => {
    const acting = behind("brake");
    const outcome = await acting.send(writes.delete, acting.stored(ready("Deleting")));
    expect(outcome).toMatchObject({
      condition: { reason: "Deleting", message: held },
      events: [{ type: "Warning", reason: "Deleting", message: held }],
      requeue: { kind: "enqueued" },
    });
    expect(acting.effects).toEqual([]);
  });

  test("a deletion that is held says so once", async () => {
    const acting = behind("brake");
    const outcome = await acting.send(writes.delete, acting.stored(ready("Deleting", held)));
    expect(outcome).toMatchObject({ condition: { kind: "unchanged" }, events: [], requeue: { kind: "enqueued" } });
  });
});

describe("a write that waits for the request budget", () => {
  test.each([
    ["Updating", writes.patch],
    ["Deleting", writes.delete],
  ] as const)(
    "a write without budget is enqueued when there is some, and no brake is named: %s",
    async (reason, write) => {
      const acting = behind("budget");
      const outcome = await acting.send(write);
      expect(outcome).toMatchObject({
        condition: { reason, message: waits },
        requeue: { kind: "enqueued" },
        events: [],
      });
      expect(acting.effects).toEqual([]);
    },
  );
});
