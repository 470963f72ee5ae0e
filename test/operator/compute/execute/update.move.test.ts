import { describe, expect, test } from "vitest";
import { NoResponseError } from "../../../../src/operator/service-client/transport.ts";
import { madeBy } from "../../../support/builders.ts";
import { json, refusal } from "../../../support/scripted-service.ts";
import { Acting, linked, settled } from "./executing.ts";

const [record, patch] = ["PATCH computes/shop/status", "PATCH service/endpoints/ep-one"];

describe("a move", () => {
  function moving() {
    const acting = new Acting();
    const self = acting.stored({ metadata: linked, spec: { branchID: "br-next" }, status: settled });
    const on = (branch_id: string) => ({ endpoints: [madeBy(self, { branch_id })] });
    acting.answer = () => json(200, { endpoint: madeBy(self), operations: [] });
    return { acting, self, on };
  }

  test("a move is recorded with both branches before it is sent, and is reported", async () => {
    const { acting, self, on } = moving();
    let before: unknown;
    acting.answer = () => {
      before = acting.compute().status.pendingWrite;
      return json(200, { endpoint: madeBy(self), operations: [] });
    };
    const outcome = await acting.reconcile(self, on("br-main"));
    expect(acting.effects).toEqual([record, patch]);
    expect(before).toMatchObject({ operation: "move", branchID: "br-main", to: "br-next", endpointID: "ep-one" });
    expect(outcome).toMatchObject({
      condition: { reason: "Moving" },
      events: [{ type: "Normal", reason: "DriftCorrected" }],
    });
    expect(acting.tools.state.known.write).toMatchObject({ phase: "open", made: "ep-one" });
  });

  test("a move without an answer keeps every other change waiting until nothing of it can take effect any more", async () => {
    const { acting, self, on } = moving();
    const { clock } = acting.cluster;
    acting.answer = () => Promise.reject(new NoResponseError("reset"));
    await acting.reconcile(self, on("br-main"));
    await clock.advance(69_999);
    const list = { startedAt: 69_999 };
    await expect(acting.reconcile(acting.compute(), { ...on("br-main"), list })).rejects.toThrow("Moving");
    await clock.advance(1);
    await acting.reconcile(acting.compute(), { ...on("br-main"), list: { startedAt: 70_000 } });
    expect(acting.service.count("PATCH")).toBe(2);
    expect(acting.compute().status.pendingWrite).toMatchObject({ n: 2 });
  });

  test("a move that was refused uses its record again, and is said to be a move", async () => {
    const { acting, self, on } = moving();
    acting.answer = () => refusal(404, "branch not found");
    const outcome = await acting.reconcile(self, on("br-main"));
    expect(outcome.condition).toMatchObject({ message: expect.stringContaining("move it to branch br-next") });
    await acting.cluster.clock.advance(3_600_000);
    await acting.reconcile(acting.compute(), on("br-main"));
    expect(acting.effects).toEqual([record, patch, patch]);
  });
});
