import { describe, expect, test } from "vitest";
import { claimOnBranch, claimOnEndpoint, ownerOf } from "../../../src/operator/claims/claims.ts";
import { EndpointIndex } from "../../../src/operator/claims/ownership.ts";
import { claimantsAmong, compute, endpoint, madeBy } from "../../support/builders.ts";
import { older, other, younger } from "../compute/claimants.ts";

const adopt = { branchPrimary: true };
const listed = (...endpoints: ReturnType<typeof endpoint>[]) => new EndpointIndex(endpoints);

describe("the owner of an endpoint is", () => {
  test("the owner of an endpoint is the Compute whose signature it carries, even if that Compute is linked to another endpoint", () => {
    const maker = other({ linked: "ep-two", spec: { branchID: "br-next" } });
    const self = compute({ linked: "ep-one" });
    const made = madeBy(maker, { branch_id: "br-main" });
    const index = listed(made, endpoint({ id: "ep-two", branch_id: "br-next" }));
    expect(ownerOf(made, claimantsAmong(self, [maker]), index)).toBe(maker);
    expect(claimOnEndpoint(self, made, claimantsAmong(self, [maker]), index)).toEqual({
      kind: "taken",
      by: maker,
      isSigned: true,
    });
  });

  test("the owner of an endpoint is not one that is to adopt the branch's primary and is linked to another", () => {
    const adopter = other({ created: older, linked: "ep-two", spec: { adopt } });
    const index = listed(endpoint(), endpoint({ id: "ep-two" }));
    const self = compute({ created: younger });
    const claimants = claimantsAmong(self, [adopter]);
    expect(ownerOf(endpoint(), claimants, index)).toBeUndefined();
    expect(claimOnEndpoint(self, endpoint(), claimants, index)).toEqual({ kind: "free" });
  });

  test.each([
    ["the one that wants it, where that is older", older, { kind: "free" }],
    ["another that is to adopt it, where that is older", younger, { kind: "taken", isSigned: false }],
  ])("%s", (_, created, claim) => {
    const self = compute({ created });
    const adopter = other({ created: "2026-01-01T00:00:00Z", spec: { adopt } });
    expect(claimOnEndpoint(self, endpoint(), claimantsAmong(self, [adopter]), listed(endpoint()))).toMatchObject(claim);
  });
});

describe("a branch", () => {
  test("a branch is free for one whose own primary stands there, though it is not linked", () => {
    const self = compute();
    const made = madeBy(self, { id: "ep-new" });
    expect(claimOnBranch(self, claimantsAmong(self, []), listed(made))).toEqual({ kind: "free" });
  });

  test.each([
    ["by the signature of its primary", madeBy(other()), true],
    ["by a link to its primary", endpoint(), false],
  ])("a branch is taken %s", (_, primary, isSigned) => {
    const holder = other({ linked: "ep-one" });
    const self = compute();
    expect(claimOnBranch(self, claimantsAmong(self, [holder]), listed(primary))).toEqual({
      kind: "taken",
      by: holder,
      isSigned,
    });
  });

  test("a branch without a primary is taken by one that wants it and is older, by no signature", () => {
    const [self, claimant] = [compute(), other({ created: older })];
    expect(claimOnBranch(self, claimantsAmong(self, [claimant]), listed())).toEqual({
      kind: "taken",
      by: claimant,
      isSigned: false,
    });
    expect(claimOnBranch(self, claimantsAmong(self, [other({ created: younger })]), listed())).toEqual({
      kind: "free",
    });
  });
});
