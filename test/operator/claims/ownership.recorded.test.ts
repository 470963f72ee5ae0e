import { describe, expect, test } from "vitest";
import { EndpointIndex, linkWithout, ownershipOf, recordedID } from "../../../src/operator/claims/ownership.ts";
import { annotationsOf } from "../../../src/operator/compute/observe/annotations.ts";
import { compute, endpoint, madeBy, proofFor, uidOf } from "../../support/builders.ts";

const listed = (...endpoints: ReturnType<typeof endpoint>[]) => new EndpointIndex(endpoints);
const two = madeBy(compute(), { id: "ep-two", created_at: "2025-01-01T00:00:00Z" });

describe("what a Compute owns", () => {
  test("a Compute owns the endpoint that it adopted; what it made besides is too many", () => {
    const self = compute({ linked: "ep-one", spec: { adopt: { endpointID: "ep-one" } } });
    expect(ownershipOf(self, listed(endpoint(), two))).toEqual({
      link: { endpoint: endpoint(), proof: "adopted" },
      missing: undefined,
      duplicates: [two],
      replacements: [],
    });
  });

  test("a Compute owns what its status proves, and what carries its name", () => {
    const self = compute({ status: { proof: proofFor("ep-one") } });
    expect(ownershipOf(self, listed(endpoint(), two))).toMatchObject({
      link: { endpoint: two, proof: "signature" },
      duplicates: [endpoint()],
    });
  });

  test("a Compute does not own what a status says that was copied from another Compute", () => {
    const copy = compute({ status: { proof: proofFor("ep-one", "created", uidOf("b")) } });
    expect(ownershipOf(copy, listed(endpoint()))).toMatchObject({ link: undefined, duplicates: [], replacements: [] });
  });

  test("a Compute owns the signed endpoint before one that only a typed link names, and that is no duplicate", () => {
    const typed = compute({ annotations: { endpointID: "ep-one" } });
    expect(ownershipOf(typed, listed(endpoint({ name: "by hand" }), two))).toMatchObject({
      link: { endpoint: two },
      duplicates: [],
    });
  });
});

describe("the recorded endpoint", () => {
  test.each<[string, string | undefined, string | undefined, string | undefined, string | undefined]>([
    ["is the annotation's", "ep-one", "ep-two", undefined, "ep-one"],
    ["is the status's where the annotation is dropped", undefined, "ep-two", undefined, "ep-two"],
    ["is none where the annotation names what is proved gone", "ep-one", undefined, "ep-one", undefined],
    ["is none where both name what is proved gone", "ep-one", "ep-one", "ep-one", undefined],
    ["is the annotation's where the status names what is proved gone", "ep-two", "ep-one", "ep-one", "ep-two"],
    ["is none where only the status names what is proved gone", undefined, "ep-one", "ep-one", undefined],
  ])("%s", (_, annotation, endpointID, gone, expected) => {
    const annotations = annotation === undefined ? {} : { endpointID: annotation };
    const status = { ...(endpointID && { endpointID }), ...(gone && { gone }) };
    expect(recordedID(compute({ annotations, status }))).toBe(expected);
  });

  test.each<[string, string | undefined, string | undefined]>([
    ["in the annotation alone", "ep-one", undefined],
    ["in the status alone", undefined, "ep-one"],
    ["in both", "ep-one", "ep-one"],
    ["in the annotation, beside another one in the status", "ep-one", "ep-two"],
  ])(
    "the recorded endpoint is none once all that are recorded are proved gone, one after the other: %s",
    (_, annotation, endpointID) => {
      const annotations = annotation === undefined ? {} : { endpointID: annotation };
      let status: object = endpointID === undefined ? {} : { endpointID };
      const proved: string[] = [];
      for (;;) {
        const self = compute({ annotations, status });
        const recorded = recordedID(self);
        if (recorded === undefined) break;
        expect(proved).not.toContain(recorded);
        proved.push(recorded);
        status = { ...status, ...linkWithout(recorded, self) };
      }
      const ids = new Set([annotation, endpointID].filter((id) => id !== undefined));
      expect(new Set(proved)).toEqual(ids);
    },
  );
});

test("a loss is confirmed where the status tells it, or doubted it, and the consent is new", () => {
  const annotations = { confirmLoss: "yes" };
  expect(annotationsOf(compute({ annotations }), 0).lossConfirmed).toBe(false);
  expect(annotationsOf(compute({ annotations, shows: "MassLoss" }), 0).lossConfirmed).toBe(true);
  expect(annotationsOf(compute({ annotations, status: { lossDoubted: true } }), 0).lossConfirmed).toBe(true);
  expect(
    annotationsOf(compute({ annotations, status: { lossDoubted: true, lastHandledConfirmLoss: "yes" } }), 0)
      .lossConfirmed,
  ).toBe(false);
});
