import { expect, test } from "vitest";
import {
  derivedBranchUID,
  derivedUID,
  isDerivedIn,
  isDerivedUID,
  uidToBe,
} from "../../src/cli/manifests/derived-uid.ts";

// What an earlier version has made bears these uids: another value, and the next apply makes all of it a second time.
test.each([
  ["shop", "a", "048330ca-3f2d-800b-aab7-a31c7e7d0323"],
  ["shop", "b", "048330ca-3f2d-8c0a-8d5c-707a07d4b51b"],
  ["a", "shop", "498b2c03-a52a-8ad9-b966-013f19468598"],
])("the uid of Compute %s/%s stays what it is from version to version", (namespace, name, uid) => {
  expect(derivedUID(namespace, name)).toBe(uid);
});

test.each([
  [undefined, "shop", "a", "dab35925-abc1-84d2-bea4-3b7acf6444ba"],
  ["prod", "shop", "a", "626c81a0-0bea-85a7-8f08-d7408535f8bf"],
  ["prod", "a", "shop", "fd5eef3d-f542-816b-8e14-7fd728183c63"],
])(
  "the uid of a Branch of fleet %s, %s/%s, stays what it is from version to version",
  (fleet, namespace, name, uid) => {
    expect(derivedBranchUID(fleet, namespace, name)).toBe(uid);
  },
);

test("a derived uid shows that it is one, and of which namespace", () => {
  const uid = derivedUID("shop", "a");
  expect([uid, uidToBe(uid)].map(isDerivedUID)).toEqual([true, false]);
  expect([isDerivedIn("shop", uid), isDerivedIn("a", uid), isDerivedIn("shop", uidToBe(uid))]).toEqual([
    true,
    false,
    false,
  ]);
  expect(uidToBe(uid)).toBe("048330ca-3f2d-400b-aab7-a31c7e7d0323");
});
