import { expect, test } from "vitest";
import { BranchPlaces } from "../../../src/operator/branch/branch-places.ts";
import { mayMeet } from "../../../src/operator/branch/plan/claims.ts";
import { uidOf } from "../../support/builders.ts";
import { branch } from "./builders.ts";

test("the Branches near one are those of its project that may want its branch, and no longer those that are gone", () => {
  const all = [
    branch({ uid: uidOf("a"), spec: { branchName: "one" } }),
    branch({ uid: uidOf("b"), spec: { branchName: "one" } }),
    branch({ uid: uidOf("c"), spec: { branchName: "one" }, linked: "br-one" }),
    branch({ uid: uidOf("d"), spec: { adopt: { branchID: "br-one" } } }),
    branch({ uid: uidOf("e"), spec: { branchName: "two" } }),
    branch({ uid: uidOf("f"), spec: { branchName: "one", projectID: "other" } }),
  ];
  const places = new BranchPlaces();
  for (const object of all) places.change({ type: "added", object });
  for (const object of all) {
    const isSame = (other: (typeof all)[number]) => other.spec.projectID === object.spec.projectID;
    const expected = all.filter((other) => isSame(other) && mayMeet(object, other));
    expect(places.near(object)).toEqual(new Set(expected.map(({ metadata }) => metadata.uid)));
  }
  const [first, second] = all;
  if (first === undefined || second === undefined) throw new Error("there are none");
  places.change({ type: "deleted", object: second });
  expect([...places.near(first)]).toEqual([uidOf("a")]);
});
