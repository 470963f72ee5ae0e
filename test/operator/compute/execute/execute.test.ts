import { describe, expect, test } from "vitest";
import { NoResponseError } from "../../../../src/operator/service-client/transport.ts";
import { madeBy, operation } from "../../../support/builders.ts";
import { json, refusal } from "../../../support/scripted-service.ts";
import { standing } from "./executing.ts";

describe("a change", () => {
  test("a change is one PATCH and nothing else, and its operations are followed", async () => {
    const { acting, self, seen } = standing({ passwordlessAccess: true });
    acting.answer = () =>
      json(200, { endpoint: madeBy(self, { passwordless_access: true }), operations: [operation()] });
    const outcome = await acting.reconcile(self, seen({ passwordless_access: false }));
    expect(acting.effects).toEqual(["PATCH service/endpoints/ep-one"]);
    expect(acting.service.requests[0]?.body).toEqual({ endpoint: { passwordless_access: true } });
    expect(outcome).toMatchObject({
      effect: { kind: "accepted", generation: 1 },
      condition: { reason: "Updating" },
      events: [{ reason: "DriftCorrected" }],
    });
    expect(acting.access.lister.operations.followed.writesRunningAt(0)).toBe(1);
  });

  test("a refused change is not applied, says why, and is not sent again too soon", async () => {
    const { acting, self, seen } = standing({ passwordlessAccess: true });
    acting.answer = () => refusal(400, "not on this plan");
    expect(await acting.reconcile(self, seen({ passwordless_access: false }))).toMatchObject({
      condition: { reason: "Rejected", message: expect.stringContaining("not on this plan") },
      requeue: { ms: 60_000 },
    });
    await expect(acting.reconcile(self, seen({ passwordless_access: false }))).rejects.toThrow("Rejected");
  });

  test.each([
    ["as long as the service asks", 30_000, 30_000],
    ["no shorter than after any other 423", 100, 1000],
  ])("a change that is refused with Retry-After waits %s", async (_, retryAfterMs, waitMs) => {
    const { acting, self, seen } = standing({ passwordlessAccess: true });
    acting.answer = () => ({ ...refusal(423, "locked"), retryAfterMs });
    expect(await acting.reconcile(self, seen({ passwordless_access: false }))).toMatchObject({
      condition: { reason: "ProjectBusy" },
      requeue: { ms: waitMs },
    });
    await acting.cluster.clock.advance(waitMs - 1);
    await expect(acting.reconcile(self, seen({ passwordless_access: false }))).rejects.toThrow("ProjectBusy");
    await acting.cluster.clock.advance(1);
    await acting.reconcile(self, seen({ passwordless_access: false }));
    expect(acting.service.count("PATCH")).toBe(2);
  });

  test("a change of unknown outcome has only newer lists believed", async () => {
    const { acting, self, seen } = standing({ passwordlessAccess: true });
    await acting.cluster.clock.advance(500);
    acting.answer = () => Promise.reject(new NoResponseError("reset"));
    expect(await acting.reconcile(self, seen({ passwordless_access: false }))).toMatchObject({
      condition: { reason: "ServiceUnavailable" },
    });
    expect(acting.tools.state.known.lists.countAfter).toBe(500);
  });
});
