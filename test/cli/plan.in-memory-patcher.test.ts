import { expect, test } from "vitest";
import { InMemoryPatcher } from "../../src/cli/plan/in-memory-patcher.ts";
import type { JsonPatchOperation } from "../../src/operator/kube/json-patch.ts";

const object = () => ({ metadata: { uid: "u-1", annotations: { "a/b~c": "1", d: "2" }, finalizers: ["x", "y", "z"] } });

test.each<[string, JsonPatchOperation[], object]>([
  ["adds a member", [{ op: "add", path: "/status", value: { a: 1 } }], { ...object(), status: { a: 1 } }],
  [
    "replaces a member whose name is escaped",
    [{ op: "replace", path: "/metadata/annotations/a~1b~0c", value: "3" }],
    { metadata: { ...object().metadata, annotations: { "a/b~c": "3", d: "2" } } },
  ],
  [
    "removes a member that is as it was seen",
    [
      { op: "test", path: "/metadata/annotations/a~1b~0c", value: "1" },
      { op: "remove", path: "/metadata/annotations/a~1b~0c" },
    ],
    { metadata: { ...object().metadata, annotations: { d: "2" } } },
  ],
  [
    "adds to a list and removes of it",
    [
      { op: "add", path: "/metadata/finalizers/-", value: "new" },
      { op: "remove", path: "/metadata/finalizers/1" },
    ],
    { metadata: { ...object().metadata, finalizers: ["x", "z", "new"] } },
  ],
])("a patch in memory %s", async (_, ops, expected) => {
  const before = object();
  const patcher = new InMemoryPatcher(before);
  expect(await patcher.patch(undefined, undefined, ops)).toEqual(expected);
  expect(await patcher.patch(undefined, undefined, [])).toEqual(expected);
  expect(before).toEqual(object());
});

test.each<[JsonPatchOperation, string]>([
  [{ op: "test", path: "/metadata/uid", value: "u-2" }, "/metadata/uid is not as it was seen"],
  [{ op: "add", path: "/status/a", value: 1 }, "there is no /status/a"],
  [{ op: "remove", path: "/metadata/uid/a" }, "there is no /metadata/uid/a"],
])("a patch in memory fails whole: %j", async (wrong, message) => {
  const patcher = new InMemoryPatcher(object());
  const first = { op: "add", path: "/metadata/uid", value: "u-1" } as const;
  const added = { op: "add", path: "/more", value: 1 } as const;
  expect(() => patcher.patch(undefined, undefined, [first, added, wrong])).toThrow(message);
  expect(await patcher.patch(undefined, undefined, [])).toEqual(object());
});
