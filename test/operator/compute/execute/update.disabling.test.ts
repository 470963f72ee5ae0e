import { describe, expect, test } from "vitest";
import { NoResponseError } from "../../../../src/operator/service-client/transport.ts";
import { endpoint, madeBy } from "../../../support/builders.ts";
import { json, refusal } from "../../../support/scripted-service.ts";
import { Acting, linked, settled, standing } from "./executing.ts";

const [record, patch] = ["PATCH computes/shop/status", "PATCH service/endpoints/ep-one"];

/** One that is linked, and is to be disabled, or enabled. */
function changing(disabled: boolean, status: object = {}) {
  const acting = new Acting();
  const self = acting.stored({ metadata: linked, spec: { disabled }, status: { ...settled, ...status } });
  acting.answer = () => json(200, { endpoint: madeBy(self, { disabled }), operations: [] });
  const send = () => acting.reconcile(self, { endpoints: [madeBy(self, { disabled: !disabled })] });
  return { acting, self, send };
}

describe("the note that this operator disabled the endpoint", () => {
  test.each<[string, () => ReturnType<Acting["answer"]>]>([
    ["is accepted", () => json(200, { endpoint: endpoint({ disabled: true }), operations: [] })],
    ["gets no answer", () => Promise.reject(new NoResponseError("reset"))],
    ["is refused", () => refusal(400)],
    ["is to be sent again", () => refusal(423)],
  ])("the note is written before the PATCH, and sticks where that %s", async (_, answer) => {
    const { acting, send } = changing(true);
    let before: unknown;
    acting.answer = () => {
      before = acting.compute().status.disabledByUs;
      return answer();
    };
    await send();
    expect(before).toBe(true);
    expect(acting.effects).toEqual([record, patch]);
    expect(acting.compute().status.disabledByUs).toBe(true);
  });

  test("the note is not written again where it stands", async () => {
    const { acting, send } = changing(true, { disabledByUs: true });
    await send();
    expect(acting.effects).toEqual([patch]);
  });

  test("the note is not written from a stale view, and then nothing is sent before the next version is read", async () => {
    const { acting, self, send } = changing(true);
    acting.write([{ op: "add", path: "/metadata/labels", value: { touched: "yes" } }]);
    await expect(send()).rejects.toMatchObject({ status: 422 });
    expect([acting.service.requests, acting.access.lister.underWay.size]).toEqual([[], 0]);
    await acting.reconcile(acting.compute(), { endpoints: [madeBy(self, { disabled: false })] });
    expect(acting.effects).toEqual([record, record, patch]);
  });

  test.each([true, false])(
    "the note counts from the end of the last PATCH of disabled (%s), however it ended",
    async (disabled) => {
      const { acting, send } = changing(disabled, { disabledByUs: true });
      await acting.cluster.clock.advance(700);
      acting.answer = () => Promise.reject(new NoResponseError("reset"));
      await send();
      expect(acting.tools.state.known.disableNotedAt).toBe(700);
    },
  );

  test("the note is not written by a PATCH that enables, or says nothing of it", async () => {
    const enabling = changing(false);
    await enabling.send();
    expect(enabling.acting.effects).toEqual([patch]);
    const { acting, self, seen } = standing({ passwordlessAccess: true });
    acting.answer = () => json(200, { endpoint: madeBy(self), operations: [] });
    await acting.reconcile(self, seen({ passwordless_access: false }));
    expect(acting.effects).toEqual([patch]);
    expect(acting.tools.state.known.disableNotedAt).toBeUndefined();
  });

  test("the note is written with the record of a create that disables, and not by another", async () => {
    for (const disabled of [true, false]) {
      const acting = new Acting();
      const self = acting.stored({ spec: { disabled } });
      acting.answer = () => {
        expect(acting.compute().status.disabledByUs).toBe(disabled ? true : undefined);
        return json(201, { endpoint: madeBy(self), operations: [] });
      };
      await acting.reconcile(self);
      expect(acting.service.count("POST")).toBe(1);
      expect(acting.effects.filter((effect) => effect === record)).toHaveLength(1);
    }
  });

  test("the note is written where a refused move, whose record still stands, is to disable as well", async () => {
    const acting = new Acting();
    const self = acting.stored({ metadata: linked, spec: { branchID: "br-next" }, status: settled });
    const seen = { endpoints: [madeBy(self, { branch_id: "br-main", disabled: false })] };
    const noted: unknown[] = [];
    acting.answer = () => {
      const { disabledByUs, pendingWrite } = acting.compute().status;
      noted.push([disabledByUs, pendingWrite?.n]);
      return refusal(400);
    };
    await acting.reconcile(self, seen);
    acting.write([{ op: "add", path: "/spec/disabled", value: true }]);
    await acting.reconcile(acting.compute(), seen);
    expect(noted).toEqual([
      [undefined, 1],
      [true, 1],
    ]);
  });

  test("the note is written with the record of a move that disables", async () => {
    const acting = new Acting();
    const spec = { disabled: true, branchID: "br-next" };
    const self = acting.stored({ metadata: linked, spec, status: settled });
    acting.answer = () => refusal(500);
    await acting.reconcile(self, { endpoints: [madeBy(self, { branch_id: "br-main", disabled: false })] });
    expect(acting.effects).toEqual([record, patch]);
    expect(acting.compute().status).toMatchObject({ disabledByUs: true, pendingWrite: { operation: "move" } });
  });
});
