import { describe, expect, test } from "vitest";
import { memoize, setNewest } from "../../../src/operator/runtime/caches.ts";

test("each object is worked out once, also where nothing comes of it, and objects that are alike each for themselves", () => {
  const asked: string[] = [];
  const lengthOf = memoize(({ name }: { name: string }) => {
    asked.push(name);
    return name === "" ? undefined : name.length;
  });
  const [one, alike, empty] = [{ name: "one" }, { name: "one" }, { name: "" }];
  expect([one, one, alike, empty, empty].map(lengthOf)).toEqual([3, 3, 3, undefined, undefined]);
  expect(asked).toEqual(["one", "one", ""]);
});

describe("of more entries than may be kept", () => {
  test("one that was set again is the newest", () => {
    const entries = new Map<string, number>();
    for (const key of ["a", "b", "a", "c"]) setNewest(entries, key, entries.size, 2);
    expect([...entries.keys()]).toEqual(["a", "c"]);
  });
});
