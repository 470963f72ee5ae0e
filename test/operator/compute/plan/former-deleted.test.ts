import { describe, expect, test } from "vitest";
import { plan } from "../../../../src/operator/compute/plan/plan.ts";
import { signatureOf } from "../../../../src/operator/resources/signature.ts";
import { type ComputeFields, compute, endpoint, input, now, takeoverMark, uidOf } from "../../../support/builders.ts";

const fleet = "3f2a91bc";

describe("a Compute that is deleted before a list has shown our signature", () => {
  const going = (mark: string, fields: ComputeFields = {}) =>
    compute({
      deleting: true,
      ...fields,
      spec: { adopt: { former: true } },
      annotations: { pendingTakeover: mark, ...fields.annotations },
      status: { observedThrough: undefined },
    });
  const planned = (fields: Parameters<typeof input>[0]) => plan(...input({ fleet, ...fields }));
  const formers = signatureOf(compute({ uid: uidOf("f") }), fleet);
  const elsewhere = going(takeoverMark("there"));
  const waits = (text: string) => ({ kind: "wait", reason: "MassLoss", message: expect.stringContaining(text) });

  test("waits while only another base URL or key can be asked, until the loss is confirmed and proved", () => {
    const doubt = "endpoint ep-one is not listed with the current base URL and key, and was last seen with others";
    expect(planned({ compute: elsewhere })).toMatchObject(waits(doubt));
    const confirmed = going(takeoverMark("there"), { shows: "MassLoss", annotations: { confirmLoss: "now" } });
    const state = { missing: { endpointID: "ep-one", firstListWithout: 0, proved: false } };
    expect(planned({ compute: confirmed, state })).toMatchObject({ kind: "confirmDeletion", endpointID: "ep-one" });
  });

  test("waits where that shows no project either", () => {
    const gone = { kind: "unavailable", reason: "ProjectNotFound", message: "", projectGone: true } as const;
    const observation = { ...gone, fingerprint: "here" };
    expect(planned({ compute: elsewhere, observation })).toMatchObject(waits("endpoint ep-one was last seen with"));
    expect(planned({ compute: going(takeoverMark()), observation })).toMatchObject({ kind: "release" });
  });

  test("names the endpoint while nothing can be asked", () => {
    const observation = { kind: "unavailable", reason: "Unauthorized", message: "no", projectGone: false } as const;
    const message = expect.stringContaining("endpoint ep-one cannot be deleted yet");
    expect(planned({ compute: elsewhere, observation })).toMatchObject({ kind: "wait", message });
  });

  test("waits for the proof that the endpoint is gone", () => {
    const missing = (proved: boolean) => ({ missing: { endpointID: "ep-one", firstListWithout: 0, proved } });
    const gone = going(takeoverMark());
    expect(planned({ compute: gone, state: missing(false) })).toMatchObject({ kind: "confirmDeletion" });
    expect(planned({ compute: gone, state: missing(true) })).toMatchObject({ kind: "release" });
  });

  test("waits until the signature can arrive no more", () => {
    const deleting = { kind: "wait", reason: "Deleting", message: expect.stringContaining("may still complete") };
    const list = { compute: going(takeoverMark()), endpoints: [endpoint({ name: formers })] };
    expect(planned({ ...list, state: { seenSince: now - 5000 } })).toMatchObject(deleting);
    expect(planned({ ...list, state: { seenSince: now - 60_200 } })).toMatchObject({ kind: "release" });
  });

  test("is let go at once where the mark is a copy", () => {
    expect(planned({ compute: going(takeoverMark("there", uidOf("b"))) })).toMatchObject({ kind: "release" });
  });
});
