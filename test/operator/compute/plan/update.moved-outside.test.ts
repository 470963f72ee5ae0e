import { describe, expect, test } from "vitest";
import type { ReadonlyState } from "../../../../src/operator/compute/memory.ts";
import { plan } from "../../../../src/operator/compute/plan/plan.ts";
import { type ComputeFields, compute, input, madeBy, now, openSince } from "../../../support/builders.ts";

const minute = 60_000;

function planned(fields: ComputeFields, seen: object, state: Partial<ReadonlyState> = {}) {
  const self = compute({ linked: "ep-one", shows: "Active", ...fields, spec: { disabled: false, ...fields.spec } });
  return plan(...input({ compute: self, endpoints: [madeBy(self, { disabled: false, ...seen })], state }));
}

describe("an endpoint that somebody moved to another branch", () => {
  const settled = { branch_id: "br-away" };
  const drift = [{ field: "branchID", ours: "br-main", theirs: "br-away" }];
  const onMain = { status: { branchID: "br-main" } };
  const reported = { shows: "MovedOutside", status: { branchID: "br-away", drift } };
  const movedOutside = { kind: "settled", reason: "MovedOutside", drift };
  const moveTo = (branch_id: string) => ({ kind: "patch", attributes: { branch_id }, progress: "Moving" });

  test("stays there, with both ids in the message, and stays so in later looks", () => {
    const message = expect.stringMatching(/endpoint ep-one was moved to branch br-away .* the spec says br-main/i);
    expect(planned(onMain, settled)).toEqual({ ...movedOutside, message });
    expect(planned(reported, settled)).toMatchObject(movedOutside);
    expect(planned({ ...onMain, spec: { branchDrift: "Report" } }, settled)).toMatchObject(movedOutside);
    // With driftPolicy Report it is drift like any other.
    const left = planned({ ...onMain, spec: { driftPolicy: "Report" } }, settled);
    expect(left).toMatchObject({ kind: "settled", reason: "Drifted", drift });
  });

  test("a moved endpoint is moved back with branchDrift Correct, unless driftPolicy is Report", () => {
    const spec = { branchDrift: "Correct" };
    expect(planned({ ...onMain, spec }, settled)).toMatchObject({ ...moveTo("br-main"), corrects: drift });
    expect(planned({ ...reported, spec }, settled)).toMatchObject(moveTo("br-main"));
    const left = planned({ ...onMain, spec: { ...spec, driftPolicy: "Report" } }, settled);
    expect(left).toMatchObject({ reason: "Drifted", drift });
  });

  test("stays there by an edit of something else, which alone is sent, also before it was reported", () => {
    for (const seen of [onMain, reported]) {
      const edited = { ...seen, generation: 2, status: { ...seen.status, appliedGeneration: 1 } };
      const action = planned({ ...edited, spec: { disabled: true } }, settled);
      expect(action).toMatchObject({ kind: "patch", attributes: { disabled: true }, fields: ["disabled"] });
    }
  });

  test("follows an edit of its branch, from wherever it was moved to", () => {
    const edit = { generation: 2, spec: { branchID: "br-next" } };
    expect(planned({ ...edit, status: { branchID: "br-main", appliedGeneration: 1 } }, settled)).toMatchObject(
      moveTo("br-next"),
    );
    expect(
      planned({ ...edit, shows: "MovedOutside", status: { ...reported.status, appliedGeneration: 1 } }, settled),
    ).toMatchObject(moveTo("br-next"));
    const accepted = planned(
      { ...edit, spec: { branchID: "br-away" }, status: { ...reported.status, appliedGeneration: 1 } },
      settled,
    );
    expect(accepted).toMatchObject({ kind: "settled", reason: "Active" });
  });

  test("a move of ours that lists do not show yet is not taken for one by somebody", () => {
    const patched = {
      generation: 1,
      branchID: "br-main",
      fields: ["branchID"],
      listsWithout: [],
      at: now - 1000,
      tries: 0,
    };
    expect(planned(onMain, settled, { patched })).toMatchObject({ kind: "wait", reason: "Updating" });
    // One for an earlier spec is over.
    const edited = { generation: 2, status: { ...onMain.status, appliedGeneration: 1 }, spec: { disabled: true } };
    expect(planned(edited, settled, { patched })).toMatchObject({ kind: "patch", fields: ["disabled"] });
  });

  test("an endpoint is put back where a move of ours without an answer led, late as it was", () => {
    const led = (to: string) => ({
      write: openSince(now - minute, { operation: "move", endpointID: "ep-one", branchID: "br-main", to }),
    });
    expect(planned(onMain, settled, led("br-away"))).toMatchObject({ kind: "wait", reason: "Moving" });
    expect(planned(onMain, settled, led("br-other"))).toMatchObject(movedOutside);
    const over = (to: string, made?: string) => {
      const { write } = led(to);
      return { write: { ...write, phase: "closed" as const, ...(made === undefined ? {} : { made }) } };
    };
    expect(planned(onMain, settled, over("br-away"))).toMatchObject(moveTo("br-main"));
    // One that was answered and listed is over: what comes later is another's.
    expect(planned(onMain, settled, over("br-away", "ep-one"))).toMatchObject(movedOutside);
  });

  test("an endpoint is moved where its create was sent to the branch that the spec named then", () => {
    const record = { operation: "create", branchID: "br-away" };
    const write = { ...openSince(now - minute, record, "ep-one"), phase: "closed" as const };
    const never = { status: { branchID: undefined, appliedGeneration: undefined } };
    expect(planned(never, settled, { write })).toMatchObject(moveTo("br-main"));
    expect(planned(never, { branch_id: "br-other" }, { write })).toMatchObject({ reason: "MovedOutside" });
  });

  test("an endpoint is moved where a status never showed its branch and the record of an earlier term names it", () => {
    const never = { status: { branchID: undefined, appliedGeneration: undefined } };
    const recorded = (branchID: string, to: string) => ({
      write: {
        ...openSince(now - minute, { operation: "move", endpointID: "ep-one", branchID, to }),
        phase: "closed" as const,
      },
    });
    expect(planned(never, settled, recorded("br-away", "br-main"))).toMatchObject(moveTo("br-main"));
    expect(planned(never, settled, recorded("br-main", "br-away"))).toMatchObject(moveTo("br-main"));
    expect(planned(never, { branch_id: "br-other" }, recorded("br-away", "br-main"))).toMatchObject({
      reason: "MovedOutside",
    });
  });

  test("stays there also where the status was wiped", () => {
    expect(planned({ status: { appliedGeneration: undefined, branchID: undefined } }, settled)).toMatchObject(
      movedOutside,
    );
  });
});
