import { expect, test } from "vitest";
import { keptApiKey } from "../../../src/operator/connection/kept-api-key.ts";

const metadata = { name: "key", uid: "u-1", resourceVersion: "7" };
const all = {
  ...metadata,
  namespace: "shop",
  creationTimestamp: "2026-01-01T00:00:00Z",
  deletionTimestamp: "2026-01-02T00:00:00Z",
  finalizers: ["example.com/a"],
};
const secret = { apiVersion: "v1", kind: "Secret", metadata };

test("all of a Secret that a connection may read is kept, and nothing else", () => {
  const bulky = { ...all, labels: { a: "b" }, annotations: { a: "b" } };
  const kept = { ...secret, type: "compute-operator.dev/api-key", metadata: all, data: { "api-key": "a2V5" } };
  expect(keptApiKey({ ...kept, metadata: bulky })).toEqual(kept);
  expect(Object.keys(keptApiKey(secret))).toEqual(["apiVersion", "kind", "metadata"]);
  expect(keptApiKey(secret).metadata).toEqual(metadata);
});

test("a value that is longer than any key is cut off, and stays too long", () => {
  const cut = keptApiKey({ ...secret, data: { long: "x".repeat(5000), fits: "x".repeat(4096) } }).data ?? {};
  expect(Object.values(cut).map(({ length }) => length)).toEqual([4096, 4096]);
});

test("what goes beyond 64 Ki characters in all counts as missing", () => {
  const value = "x".repeat(4092);
  const names = Array.from({ length: 17 }, (_, nth) => `k-${String(nth).padStart(2, "0")}`);
  const kept = keptApiKey({ ...secret, data: Object.fromEntries(names.map((name) => [name, value])) });
  expect(Object.keys(kept.data ?? {})).toEqual(names.slice(0, 16));
});

test("a hundred finalizers are kept", () => {
  const finalizers = Array.from({ length: 101 }, (_, nth) => `example.com/${nth}`);
  expect(keptApiKey({ ...secret, metadata: { ...metadata, finalizers } }).metadata.finalizers).toEqual(
    finalizers.slice(0, 100),
  );
});
