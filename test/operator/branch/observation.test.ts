import { describe, expect, test } from "vitest";
import type { ListedBranch } from "../../../src/api/branch.ts";
import { BranchListing } from "../../../src/api/branch-listing.ts";
import {
  findLinked,
  findLinkedAt,
  isOfFormerBranch,
  isOurs,
  linkedID,
  notedUID,
  noteFor,
  ownershipOf,
} from "../../../src/operator/branch/observation.ts";
import { ApiKey, accountFingerprint } from "../../../src/operator/service-client/account.ts";
import { uidOf } from "../../support/builders.ts";
import { branch, listed, madeBy, main } from "./builders.ts";

const self = branch();
const other = branch({ uid: uidOf("b") });
const proved = (by: string, more: object = {}) =>
  branch({ linked: "br-one", status: { proof: { uid: uidOf("a"), branchID: "br-one", by, ...more } } });

test.each([
  ["the one that its status names", branch({ linked: "br-one" }), "br-one"],
  ["none where the status names none", self, undefined],
  [
    "none where that one is gone",
    branch({ linked: "br-one", status: { gone: { branchID: "br-one", how: "Expired", expiry: "never" } } }),
    undefined,
  ],
  [
    "another one than is gone",
    branch({ linked: "br-one", status: { gone: { branchID: "br-two", how: "Expired", expiry: "never" } } }),
    "br-one",
  ],
])("an object is linked to %s", (_, object, id) => {
  expect(linkedID(object)).toBe(id);
});

describe("the note of a branch", () => {
  test.each([
    [undefined, {}],
    ["prod", { "compute-operator.dev/fleet": "prod" }],
  ])("the note of a branch names uid and place of its object, and the fleet: %s", (fleet, more) => {
    expect(noteFor(self, fleet)).toStrictEqual({
      "compute-operator.dev/uid": uidOf("a"),
      "compute-operator.dev/object": "team/shop",
      ...more,
    });
  });

  test.each([
    ["our own", madeBy(self), uidOf("a")],
    ["another object's", madeBy(other), uidOf("b")],
    ["another program's", listed({ note: { "made-by": "ci" } }), undefined],
    ["one whose uid is no text", listed({ note: { "compute-operator.dev/uid": 1 } }), undefined],
    ["none", listed(), undefined],
  ])("the note of a branch has a uid where it is an operator's: %s", (_, one, uid) => {
    expect(notedUID(one)).toBe(uid);
  });

  test.each([
    ["of this fleet and place", madeBy(other, {}, "prod"), "prod", true],
    ["of another fleet", madeBy(other, {}, "staging"), "prod", false],
    ["of no fleet", madeBy(other), "prod", false],
    ["of no fleet, where this operator has none", madeBy(other), undefined, false],
    ["of another place", madeBy(branch({ name: "next" }), {}, "prod"), "prod", false],
    ["that is not there", listed(), "prod", false],
  ])("a note %s is told by fleet and place to be a former object's or not", (_, one, fleet, isTheirs) => {
    expect(isOfFormerBranch(one, self, fleet)).toBe(isTheirs);
  });
});

describe("a branch belongs to an object", () => {
  test.each([
    ["by its note, without any status", self, madeBy(self), "note"],
    ["by its note, whatever the status says", proved("adopted"), madeBy(self), "note"],
    ["by its create", proved("created"), listed(), "created"],
    ["by its takeover", proved("former"), listed(), "former"],
    ["by its takeover, whose note nothing rewrites", proved("former"), madeBy(other), "former"],
    ["by its adoption", proved("adopted"), listed(), "adopted"],
    ["not by a create where another's note outranks it", proved("created"), madeBy(other), "none"],
    ["not by an adoption where another's note outranks it", proved("adopted"), madeBy(other), "none"],
    ["not by a proof in words of another version", proved("guessed"), listed(), "none"],
    ["not by a proof for another uid", proved("created", { uid: uidOf("b") }), listed(), "none"],
    ["not by a takeover for another uid", proved("former", { uid: uidOf("b") }), listed(), "none"],
    ["not by a proof for another branch", proved("created", { branchID: "br-two" }), listed(), "none"],
    ["not by its link alone", branch({ linked: "br-one", status: { proof: undefined } }), listed(), "none"],
  ])("a branch belongs to an object %s", (_, object, one, by) => {
    expect(ownershipOf(object, one)).toBe(by);
  });

  test.each([
    ["note", true],
    ["created", true],
    ["former", true],
    ["adopted", false],
    ["none", false],
  ] as const)("a branch may be renewed, reset and deleted by %s: %s", (by, may) => {
    expect(isOurs(by)).toBe(may);
  });
});

describe("the branch of an object in a list", () => {
  const found = (object = self, ...branches: ListedBranch[]) =>
    findLinked(object, new BranchListing([main, ...branches], 0));
  const gone = branch({ linked: "br-one", status: { gone: { branchID: "br-one", how: "Expired", expiry: "never" } } });

  test.each([
    ["the one that it is linked to", branch({ linked: "br-one" }), [listed()], { id: "br-one", by: "created" }],
    ["that one also when it was proved gone and is back", gone, [listed()], { id: "br-one", by: "created" }],
    ["the one of its name that has its note", self, [madeBy(self)], { id: "br-one", by: "note" }],
    ["one that has its note and was renamed", self, [madeBy(self, { name: "renamed" })], { id: "br-one", by: "note" }],
    [
      "of two with its note the one of its name",
      self,
      [madeBy(self, { id: "br-first", name: "renamed" }), madeBy(self)],
      { id: "br-one", by: "note" },
    ],
    [
      "of two of its name the one with its note",
      self,
      [listed({ id: "br-first" }), madeBy(self)],
      { id: "br-one", by: "note" },
    ],
  ])("the branch of an object is %s", (_, object, branches, { id, by }) => {
    expect(found(object, ...branches)).toMatchObject({ listed: { id }, by });
  });

  test.each([
    ["where only another's has its name", self, [madeBy(other)]],
    ["where one without a note has its name", self, [listed()]],
    ["where the linked one is missing, whatever has its note", branch({ linked: "br-two" }), [madeBy(self)]],
  ])("the branch of an object is none %s", (_, object, branches) => {
    expect(found(object, ...branches)).toBeUndefined();
  });
});

describe("the branch of an object whose base URL was changed", () => {
  const through = (url: string, key = "a-key") => accountFingerprint({ baseURL: url, key: new ApiKey(key) });
  const [here, there] = ["https://here/api/v2", "https://there/api/v2"];
  const got = (by: string, observedThrough?: string) =>
    branch({ linked: "br-one", status: { ...proved(by).status, observedThrough } });
  const by = (object: typeof self, ...branches: ListedBranch[]) =>
    findLinkedAt(through(here), object, new BranchListing([main, ...branches], 0))?.by;

  test.each(["created", "former"])("the proof %s of another service counts for nothing", (proof) => {
    expect(by(got(proof, through(there)), listed())).toBe("none");
    expect(by(got(proof, through(here, "former-key")), listed())).toBe(proof);
  });

  test("its own note counts at any service, and so does an adoption, which deletes nothing", () => {
    expect(by(got("created", through(there)), madeBy(self))).toBe("note");
    expect(by(got("adopted", through(there)), listed())).toBe("adopted");
  });

  test("one that is not listed is none", () => {
    expect(by(got("created", through(there)))).toBeUndefined();
  });
});
