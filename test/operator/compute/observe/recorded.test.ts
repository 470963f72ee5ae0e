import { describe, expect, test } from "vitest";
import { annotationsOf, branchOf } from "../../../../src/operator/compute/observe/annotations.ts";
import { EndpointIndex, ownershipOf } from "../../../../src/operator/compute/observe/ownership.ts";
import type { Compute } from "../../../../src/operator/resources/compute.ts";
import { compute, createdNote, createMark, endpoint, madeBy, uidOf } from "../../../support/builders.ts";

const listed = (...endpoints: ReturnType<typeof endpoint>[]) => new EndpointIndex(endpoints);
const two = madeBy(compute(), { id: "ep-two", created_at: "2025-01-01T00:00:00Z" });

describe("what a Compute owns", () => {
  test("is the endpoint that it adopted; what it made besides is too many", () => {
    const self = compute({ linked: "ep-one", spec: { adopt: { endpointID: "ep-one" } } });
    expect(ownershipOf(self, listed(endpoint(), two))).toEqual({
      link: { endpoint: endpoint(), proof: "adopted" },
      missing: undefined,
      duplicates: [two],
      replacements: [],
    });
  });

  test("is what its own note says, and what carries its name", () => {
    const self = compute({ annotations: { createdEndpoint: createdNote("ep-one") } });
    expect(ownershipOf(self, listed(endpoint(), two))).toMatchObject({
      link: { endpoint: two, proof: "signature" },
      duplicates: [endpoint()],
    });
  });

  test("is not what a note says that was copied from another Compute", () => {
    const copy = compute({ annotations: { createdEndpoint: createdNote("ep-one", uidOf("b")) } });
    expect(ownershipOf(copy, listed(endpoint()))).toMatchObject({ link: undefined, duplicates: [], replacements: [] });
  });

  test("is missing while a create in the place of what was proved gone is pending", () => {
    const annotations = { endpointID: "ep-one", pendingCreate: createMark({ replaces: "ep-one" }) };
    const nothing = { link: undefined, missing: "ep-one", duplicates: [], replacements: [] };
    expect(ownershipOf(compute({ annotations }), listed(endpoint({ id: "ep-other" })))).toEqual(nothing);
  });
});

test("a mark that names no branch was made for that of the spec", () => {
  const marked = (mark: object) =>
    compute({ annotations: { pendingCreate: JSON.stringify({ uid: uidOf("a"), ...mark }) } });
  const branch = (self: Compute) => {
    const { pendingCreate } = annotationsOf(self);
    return pendingCreate && branchOf(pendingCreate, self);
  };
  expect(branch(marked({}))).toBe("br-main");
  expect(branch(marked({ branchID: "br-next" }))).toBe("br-next");
  expect(branch(compute())).toBeUndefined();
});

test("a loss is confirmed where the status tells it, or doubted it, and the consent is new", () => {
  const annotations = { confirmLoss: "yes" };
  expect(annotationsOf(compute({ annotations })).lossConfirmed).toBe(false);
  expect(annotationsOf(compute({ annotations, shows: "MassLoss" })).lossConfirmed).toBe(true);
  expect(annotationsOf(compute({ annotations, status: { lossDoubted: true } })).lossConfirmed).toBe(true);
  expect(
    annotationsOf(compute({ annotations, status: { lossDoubted: true, lastHandledConfirmLoss: "yes" } })).lossConfirmed,
  ).toBe(false);
});
