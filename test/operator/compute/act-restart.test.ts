import { describe, expect, test } from "vitest";
import { restartMarkOf } from "../../../src/operator/compute/observe/marks.ts";
import { endpoint, operation } from "../../support/builders.ts";
import { json, refusal } from "../../support/scripted-service.ts";
import { type Acting, standing } from "./acting.ts";

describe("a restart", () => {
  const asked = { "compute-operator.dev/restartedAt": "now" };

  test("is mark, then POST, and the value is done", async () => {
    const { acting, self, seen } = standing({}, asked);
    acting.answer = (what) =>
      what.startsWith("GET")
        ? json(200, { operations: [operation({ created_at: "2026-01-01T09:00:00Z" })] })
        : json(200, { endpoint: endpoint(), operations: [] });
    const outcome = await acting.pass(self, seen());
    expect(acting.effects).toEqual([
      "GET service/operations",
      "PATCH computes/shop",
      "POST service/endpoints/ep-one/restart",
    ]);
    expect(restartMarkOf(acting.compute())).toMatchObject({ value: "now", newestOperation: "2026-01-01T09:00:00Z" });
    expect(outcome).toMatchObject({ restarted: "now", verdict: { reason: "Restarting" } });
  });

  const over = { status: "finished", created_at: "2026-01-01T08:00:00Z", updated_at: "2026-01-01T08:00:01Z" };
  const later = { ...over, updated_at: "2026-01-01T08:00:02Z" };
  test.each([
    ["there was none", [], ""],
    ["all were over", [over, later, over], later.updated_at],
    ["one was under way", [over, { ...later, status: "running" }], undefined],
    ["one has no time", [over, { ...over, updated_at: undefined }], undefined],
  ])("notes since when no operation was under way: %s", async (_, operations, restedSince) => {
    const { acting, self, seen } = standing({}, asked);
    acting.answer = (what) =>
      what.startsWith("GET") ? json(200, { operations: operations.map(operation) }) : refusal(502);
    await acting.pass(self, seen());
    expect(restartMarkOf(acting.compute())?.restedSince).toBe(restedSince);
  });

  test("that was refused, and of which it could not be asked whether the compute rests, is looked at again soon", async () => {
    const { acting, self, seen } = standing({}, asked);
    acting.answer = (what) => {
      if (what.startsWith("POST")) return refusal(409);
      return what.includes("operations") ? json(200, { operations: [] }) : refusal(503);
    };
    expect(await acting.pass(self, seen())).toMatchObject({
      verdict: { reason: "ServiceUnavailable" },
      lookInMs: 1000,
    });
  });

  const markedBefore = (acting: Acting) => {
    const mark = { uid: acting.compute().metadata.uid, since: "", value: "now", newestOperation: over.created_at };
    const path = "/metadata/annotations/compute-operator.dev~1pending-restart";
    acting.write([{ op: "add", path, value: JSON.stringify(mark) }]);
    return acting.compute();
  };

  test("that shows in the operations, which could not be read for the plan, is done and not sent again", async () => {
    const { acting, seen } = standing({}, asked);
    const self = markedBefore(acting);
    const pair = ["suspend_compute", "start_compute"].map((action) =>
      operation({ ...later, action, created_at: "2026-01-01T09:00:00Z" }),
    );
    acting.answer = () => json(200, { operations: pair });
    expect(await acting.pass(self, seen())).toMatchObject({ restarted: "now", notes: [{ reason: "Restarted" }] });
    expect(acting.effects).toEqual(["GET service/operations"]);
  });

  test("that was refused keeps the mark of one before it whose reply was lost: that may be what is in the way", async () => {
    const { acting, seen } = standing({}, asked);
    const self = markedBefore(acting);
    acting.answer = (what) => (what.startsWith("GET") ? json(200, { operations: [] }) : refusal(423));
    await acting.pass(self, seen());
    expect(restartMarkOf(acting.compute())).toEqual(restartMarkOf(self));
  });

  test("without answer keeps its mark; one that was refused loses it", async () => {
    for (const [answer, kept] of [
      [() => refusal(502), true],
      [() => refusal(423), false],
    ] as const) {
      const { acting, self, seen } = standing({}, asked);
      acting.answer = (what) => (what.startsWith("GET") ? json(200, { operations: [] }) : answer());
      const outcome = await acting.pass(self, seen());
      expect(outcome.restarted).toBeUndefined();
      expect(restartMarkOf(acting.compute()) !== undefined).toBe(kept);
    }
  });
});
