import { describe, expect, test } from "vitest";
import { EndpointIndex, ownershipOf, proofOf, recordedID } from "../../../src/operator/claims/ownership.ts";
import { plan } from "../../../src/operator/compute/plan/plan.ts";
import { compute, endpoint, input, madeBy, openSince, proofFor, uidOf } from "../../support/builders.ts";

function links(self: ReturnType<typeof compute>, ...endpoints: ReturnType<typeof endpoint>[]) {
  const { link, missing, duplicates } = ownershipOf(self, new EndpointIndex(endpoints));
  return { id: link?.endpoint.id, proof: link?.proof, missing, duplicates: duplicates.map(({ id }) => id) };
}

describe("an endpoint is ours by", () => {
  test.each([
    ["its name, the signature", {}, madeBy(compute()), "signature"],
    ["its status, of an answered create", { status: { proof: proofFor("ep-one") } }, endpoint(), "created"],
    [
      "its status, of a name that was shown",
      { status: { proof: proofFor("ep-one", "signature") } },
      endpoint(),
      "signature",
    ],
    ["spec.adopt, by id", { spec: { adopt: { endpointID: "ep-one" } } }, endpoint(), "adopted"],
    [
      "spec.adopt, as the primary of the branch that it has left since",
      { spec: { adopt: { branchPrimary: true } }, status: { proof: proofFor("ep-one", "adopted") } },
      endpoint({ branch_id: "br-2" }),
      "adopted",
    ],
    ["spec.adopt, as the branch's primary", { spec: { adopt: { branchPrimary: true } } }, endpoint(), "adopted"],
  ])("an endpoint is ours by %s", (_, fields, seen, proof) => {
    expect(proofOf(compute(fields), seen)).toBe(proof);
  });

  test.each([
    ["the status of another object", { status: { proof: proofFor("ep-one", "created", uidOf("b")) } }, endpoint()],
    ["its status, of another endpoint", { status: { proof: proofFor("ep-two") } }, endpoint()],
    [
      "its status, against a name that is there",
      { status: { proof: proofFor("ep-one") } },
      endpoint({ name: "by hand" }),
    ],
    ["spec.adopt of another id", { spec: { adopt: { endpointID: "ep-two" } } }, endpoint()],
    [
      "spec.adopt of the primary, a replica",
      { spec: { adopt: { branchPrimary: true } } },
      endpoint({ type: "read_only" }),
    ],
    [
      "spec.adopt of another branch's primary",
      { spec: { adopt: { branchPrimary: true } } },
      endpoint({ branch_id: "br-2" }),
    ],
    [
      "an adoption that spec.adopt no longer asks for",
      { status: { proof: proofFor("ep-one", "adopted") } },
      endpoint(),
    ],
    [
      "another object's adoption",
      {
        spec: { adopt: { branchPrimary: true } },
        status: { proof: proofFor("ep-one", "adopted", uidOf("b")) },
      },
      endpoint({ branch_id: "br-2" }),
    ],
    [
      "spec.adopt of a former Compute's, which only its signature proves",
      { linked: "ep-one", spec: { adopt: { former: true } } },
      endpoint(),
    ],
    ["an annotation alone", { linked: "ep-one" }, endpoint()],
    ["a name that only looks like a signature", {}, endpoint({ name: `k8s-${uidOf("a")} ` })],
    ["a signature in capitals", {}, endpoint({ name: `K8S-${uidOf("a")}`.toUpperCase() })],
  ])("an endpoint is not ours by %s", (_, fields, seen) => {
    expect(proofOf(compute(fields), seen)).toBe("none");
  });
});

describe("which endpoint a Compute is linked to", () => {
  test("the link is the annotation's; where that was dropped, the status's (kubectl replace drops annotations)", () => {
    expect(recordedID(compute({ linked: "ep-one", status: { endpointID: "ep-old" } }))).toBe("ep-one");
    expect(recordedID(compute({ status: { endpointID: "ep-old" } }))).toBe("ep-old");
    for (const endpointID of ["", "..", "quiet-river", "ep-/../..", `ep-${"x".repeat(5000)}`]) {
      expect(recordedID(compute({ annotations: { endpointID } }))).toBeUndefined();
    }
  });

  test("the link is the one with the signature, where nothing is recorded or what is recorded proves nothing", () => {
    const mine = madeBy(compute(), { id: "ep-mine" });
    expect(links(compute(), endpoint(), mine)).toMatchObject({ id: "ep-mine", proof: "signature" });
    expect(links(compute({ linked: "ep-one" }), endpoint(), mine)).toMatchObject({ id: "ep-mine", duplicates: [] });
  });

  test("stays as it is while a list lacks it, though another carries the signature: lists may lag", () => {
    const other = madeBy(compute(), { id: "ep-other" });
    expect(ownershipOf(compute({ linked: "ep-one" }), new EndpointIndex([other]))).toEqual({
      link: undefined,
      missing: "ep-one",
      duplicates: [],
      replacements: [{ endpoint: other, proof: "signature" }],
    });
  });

  test("goes over to the one that was made in its place, and to what the status knows where the annotation is wrong", () => {
    const mine = madeBy(compute(), { id: "ep-mine" });
    const replaced = compute({ linked: "ep-gone", status: { endpointID: "ep-gone", gone: "ep-gone" } });
    expect(links(replaced, mine)).toMatchObject({ id: "ep-mine", missing: undefined });
    const typed = compute({ linked: "ep-typed", status: { endpointID: "ep-mine" } });
    expect(links(typed, madeBy(typed, { id: "ep-a" }), mine)).toMatchObject({ id: "ep-mine", duplicates: ["ep-a"] });
  });

  test("the link is missing where a list lacks it", () => {
    expect(links(compute({ linked: "ep-gone" }), endpoint())).toEqual({
      id: undefined,
      proof: undefined,
      missing: "ep-gone",
      duplicates: [],
    });
  });

  test("the link is, of two with one signature, the linked one, else the older, else the lesser id; the other is a duplicate", () => {
    const at = (id: string, second: number) => madeBy(compute(), { id, created_at: `2026-01-01T00:00:0${second}Z` });
    expect(links(compute({ linked: "ep-b" }), at("ep-a", 1), at("ep-b", 2))).toMatchObject({
      id: "ep-b",
      duplicates: ["ep-a"],
    });
    expect(links(compute(), at("ep-b", 2), at("ep-c", 1))).toMatchObject({ id: "ep-c", duplicates: ["ep-b"] });
    expect(links(compute(), at("ep-b", 1), at("ep-a", 1))).toMatchObject({ id: "ep-a", duplicates: ["ep-b"] });
  });
});

describe("finalizer and link", () => {
  const put = { kind: "link", endpointID: "ep-one", proof: "signature", news: "none" };

  test.each([
    ["both were dropped by kubectl replace", { status: { endpointID: "ep-one" }, guarded: false }],
    ["the finalizer is missing", { linked: "ep-one", guarded: false }],
    ["the annotation is missing", { status: { endpointID: "ep-one" } }],
    ["the annotation names another", { annotations: { endpointID: "ep-other" }, status: { endpointID: "ep-one" } }],
  ])("finalizer and link are put back where %s", (_, fields) => {
    const self = compute(fields);
    expect(plan(...input({ compute: self, endpoints: [madeBy(self)] }))).toEqual(put);
  });

  test("finalizer and link are put back while paused too, or the deletion that pausing is to hold up would be instant", () => {
    const self = compute({ status: { endpointID: "ep-one" }, guarded: false, annotations: { paused: "true" } });
    expect(plan(...input({ compute: self, endpoints: [madeBy(self)] }))).toEqual(put);
  });

  test("finalizer and link are put back also while the service cannot be seen, and the finalizer also for a create that is open", () => {
    const observation = { kind: "unavailable", reason: "Unauthorized", message: "", projectGone: false } as const;
    const dropped = compute({ status: { endpointID: "ep-one" }, guarded: false });
    expect(plan(...input({ compute: dropped, observation }))).toEqual({ ...put, proof: "none" });
    const unlinked = { compute: compute({ guarded: false }), observation };
    expect(plan(...input({ ...unlinked, state: { write: openSince(0) } }))).toEqual({ kind: "restoreFinalizer" });
    expect(plan(...input(unlinked))).toMatchObject({ reason: "Unauthorized" });
  });
});

test("an endpoint that only the status proves ours takes the place of one that is gone, as one that carries our name does", () => {
  const self = compute({ linked: "ep-away", status: { endpointID: "ep-away", proof: proofFor("ep-one") } });
  const { link, missing, replacements } = ownershipOf(
    self,
    new EndpointIndex([endpoint(), endpoint({ id: "ep-other" })]),
  );
  expect({ link, missing, replacements: replacements.map(({ endpoint: { id } }) => id) }).toEqual({
    link: undefined,
    missing: "ep-away",
    replacements: ["ep-one"],
  });
});
