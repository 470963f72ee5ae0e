import { describe, expect, test } from "vitest";
import { isOutsider, mayMeet } from "../../../../src/operator/branch/plan/claims.ts";
import { ApiKey, accountFingerprint } from "../../../../src/operator/service-client/account.ts";
import { uidOf } from "../../../support/builders.ts";
import { type BranchFields, branch, listed, madeBy, planned, shows } from "../builders.ts";

const baseURL = "https://service/api/v2";
const seenAt = (url: string) => accountFingerprint({ baseURL: url, key: new ApiKey("a-key") });
const older = "2025-01-01T00:00:00Z";
const younger = "2027-01-01T00:00:00Z";

/** Another Branch that reaches the same project, of the same branch name. */
const other = ({ spec, ...fields }: BranchFields = {}) =>
  branch({
    uid: uidOf("b"),
    name: "other",
    namespace: "others",
    spec: { branchName: "team/shop", ...spec },
    ...fields,
  });

/** A status that links a branch without any proof, as a restored or copied object has it. */
const unproved = { proof: undefined };
const gone = { branchID: "br-one", how: "BranchLost", expiry: "never" };
const byID = { adopt: { branchID: "br-one" } };

describe("of two that want the same branch and have none", () => {
  test.each([
    ["the older one", { created: older }, true],
    ["the lesser uid of two of one age", { uid: uidOf("A") }, true],
    ["not the greater uid of two of one age", {}, false],
    ["not the younger one", { created: younger, uid: uidOf("A") }, false],
    ["not one that wants another name", { created: older, spec: { branchName: "team/next" } }, false],
    ["not one that wants a branch by its id", { created: older, spec: byID }, false],
  ])("a free name belongs to %s", (_, fields: BranchFields, isOthers) => {
    const expected = isOthers ? shows("Conflict") : { kind: "write", write: { op: "create" } };
    expect(planned({ others: [other(fields)] })).toMatchObject(expected);
  });

  test("the loser names the object that wins the claim, and the name or the id that both want", () => {
    expect(planned({ others: [other({ created: older })] })).toMatchObject(
      shows("Conflict", 'Branch object others/other already claims branch "team/shop".'),
    );
    const adopter = { object: branch({ spec: byID }), branches: [listed()] };
    expect(planned({ ...adopter, others: [other({ created: older, spec: byID })] })).toMatchObject(
      shows("Conflict", "Branch object others/other already claims branch br-one."),
    );
  });
});

describe("of two that are linked to one branch", () => {
  test.each([
    ["a proof beats a link without one", { status: unproved }, { created: younger }, true],
    ["a link without proof does not beat a proof", {}, { created: older, status: unproved }, false],
    [
      "a proof for another uid is none",
      { created: younger },
      { status: { proof: { uid: uidOf("c"), branchID: "br-one", by: "created" } } },
      false,
    ],
    [
      "a proof for another branch is none",
      { created: younger },
      { status: { proof: { uid: uidOf("b"), branchID: "br-two", by: "created" } } },
      false,
    ],
    ["of two proofs the older object's counts", {}, { created: older }, true],
    ["of two proofs the younger object's does not count", {}, { created: younger }, false],
    [
      "of two links without proof the older object's counts",
      { status: unproved },
      { created: older, status: unproved },
      true,
    ],
  ])("%s", (_, mine: BranchFields, theirs: BranchFields, isOthers) => {
    const object = branch({ linked: "br-one", ...mine, status: { branchID: "br-one", ...mine.status } });
    const others = [other({ linked: "br-one", ...theirs })];
    expect(planned({ object, others })).toMatchObject(
      isOthers ? shows("Conflict", "branch br-one") : shows("Available"),
    );
  });

  test("the branch is its maker's by the note, whatever another one's status says", () => {
    const object = branch({ linked: "br-one" });
    const others = [other({ linked: "br-one", created: older })];
    expect(planned({ object, others, branches: [madeBy(object)] })).toMatchObject(shows("Available"));
  });

  test("a link without proof beats the wish to adopt the branch, however old the wish is", () => {
    const object = branch({ linked: "br-one", status: unproved });
    expect(planned({ object, others: [other({ created: older, spec: byID })] })).toMatchObject(shows("Available"));
    const adopter = branch({ spec: byID, created: older });
    const others = [other({ linked: "br-one", status: unproved })];
    expect(planned({ object: adopter, others, branches: [listed()] })).toMatchObject(
      shows("Conflict", "branch br-one"),
    );
  });

  test.each([
    ["another branch", other({ linked: "br-two", created: older })],
    [
      "a branch that is proved gone",
      other({
        linked: "br-one",
        created: older,
        status: { gone },
      }),
    ],
    ["no branch, and wants the same name", other({ created: older })],
  ])("an older object counts for nothing that is linked to %s", (_, claimant) => {
    expect(planned({ object: branch({ linked: "br-one", status: unproved }), others: [claimant] })).toMatchObject(
      shows("Available"),
    );
  });
});

describe("another object that has no branch", () => {
  const reach = { baseURLOf: () => baseURL, isUnreachable: () => false, reachedThrough: () => undefined };
  const hindered = ["RateLimited", "ServiceUnavailable", "Unauthorized", "Forbidden", "ConnectionNotFound"];
  const linked = (observedThrough: string | undefined) => ({ linked: "br-one", status: { observedThrough } });
  const linkedElsewhere = { ...linked(seenAt("https://own/api/v2")), shows: "Creating" };
  test.each<[string, BranchFields, boolean]>([
    ["as long as it shows nothing", {}, true],
    ["not once it has a branch", { ...linked(seenAt(baseURL)), shows: "Unauthorized" }, false],
    ["if it has one at another service", { ...linked(seenAt("https://own/api/v2")), shows: "Unauthorized" }, true],
    ["if no list has shown its branch", { ...linked(undefined), shows: "Unauthorized" }, true],
    ["not if it reaches this one, whatever it had", linkedElsewhere, false],
    ["not with the same connection", { shows: "Unauthorized", namespace: "team" }, false],
  ])("another object that has no branch is an outsider %s", (_, fields, expected) => {
    expect(isOutsider(other(fields), branch(), reach)).toBe(expected);
  });

  test.each([...hindered, "ConnectionNotReady", "ProjectNotFound", "Paused"])(
    "another object that has no branch is an outsider while it shows %s",
    (shown) => {
      expect(isOutsider(other({ shows: shown }), branch(), reach)).toBe(true);
    },
  );

  test("another object that has no branch is no outsider once its connection has listed the project", () => {
    const reached = { ...reach, reachedThrough: () => "here" };
    const outsiders = [undefined, ...hindered, "Paused"].filter((shown) =>
      isOutsider(other(shown === undefined ? {} : { shows: shown }), branch(), reached),
    );
    expect(outsiders).toEqual(["Unauthorized", "Forbidden", "ConnectionNotFound", "Paused"]);
  });

  test("another object that has no branch is an outsider where its service does not answer", () => {
    const silent = { ...reach, isUnreachable: () => true, reachedThrough: () => "here" };
    expect(isOutsider(other({ shows: "Creating" }), branch(), silent)).toBe(true);
    expect(isOutsider(other({ ...linked(seenAt(baseURL)), shows: "Creating" }), branch(), silent)).toBe(false);
  });

  test.each(["Creating", "BranchExists"])(
    "another object that has no branch is no outsider while it shows %s",
    (shown) => {
      expect(isOutsider(other({ shows: shown }), branch(), reach)).toBe(false);
    },
  );
});

test.each<[string, BranchFields, BranchFields, boolean]>([
  ["that want one name", {}, {}, true],
  ["that want different names", {}, { spec: { branchName: "team/next" } }, false],
  ["that want one id", { spec: byID }, { spec: byID }, true],
  ["of which one has the branch that the other wants", { spec: byID }, { linked: "br-one" }, true],
  ["of which one has another branch than the other wants", { spec: byID }, { linked: "br-two" }, false],
  ["that are linked to one branch", { linked: "br-one" }, { linked: "br-one" }, true],
  [
    "of which one had the branch that the other has",
    { status: { branchID: "br-one", gone } },
    { linked: "br-one" },
    true,
  ],
  ["of one name, of which one has a branch", {}, { linked: "br-one" }, false],
])("two objects %s may meet or not", (_, mine, theirs, expected) => {
  expect(mayMeet(branch(mine), other(theirs))).toBe(expected);
});
