import { expect, test } from "vitest";
import { Index, IndexEntries } from "../../../src/operator/runtime/index-entries.ts";

test("an index has the ids of each key in the order in which they were added, each once", () => {
  const index = new Index();
  for (const id of ["b", "b", "a", "c", "a"]) index.add("key", id);
  index.add("other", "d");
  expect([[...index.get("key")], [...index.get("other")], [...index.get("none")]]).toEqual([
    ["b", "a", "c"],
    ["d"],
    [],
  ]);
  index.delete("key", "b");
  index.delete("key", "d");
  index.delete("other", "a");
  index.delete("none", "a");
  expect([[...index.get("key")], [...index.get("other")]]).toEqual([["a", "c"], ["d"]]);
  for (const id of ["a", "c", "c"]) index.delete("key", id);
  index.delete("other", "d");
  expect([[...index.get("key")], [...index.get("other")]]).toEqual([[], []]);
  index.add("key", "e");
  expect([...index.get("key")]).toEqual(["e"]);
});

test("an id without entries is known, and one that gets the same again keeps its place in each index", () => {
  const index = new Index();
  const entries = new IndexEntries();
  entries.set("none", []);
  for (const id of ["a", "b", "a"]) entries.set(id, [{ index, key: "main" }]);
  expect([[...index.get("main")], [...entries.ids]]).toEqual([
    ["a", "b"],
    ["none", "a", "b"],
  ]);
});
