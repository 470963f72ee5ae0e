import { describe, expect, test } from "vitest";
import { labelsOfCompute, withKeptMetadata } from "../../../src/operator/manager/kept-metadata.ts";
import type { ObjectMeta } from "../../../src/operator/objects/object.ts";
import { annotations, labels } from "../../../src/operator/resources/names.ts";
import { labelSelector } from "../../../src/operator/resources/selector.ts";
import { compute } from "../../support/builders.ts";

const ours = { apiVersion: "compute-operator.dev/v1alpha1", kind: "ComputePool", name: "web", uid: "pool" };
const theirs = (n: number) => ({ apiVersion: "v1", kind: "ConfigMap", name: `a-${n}`, uid: `uid-${n}` });
const withMetadata = (metadata: Partial<ObjectMeta>) => {
  const object = compute();
  return { ...object, metadata: { ...object.metadata, ...metadata } };
};
const all = Object.values(annotations);

describe("what the cache keeps of an object", () => {
  test("every annotation that the operator reads is kept, and no other, under its own prefix either", () => {
    const read = Object.fromEntries(all.map((name) => [name, "x"]));
    const foreign = { "example.com/note": "y".repeat(250_000), "compute-operator.dev/other": "y".repeat(250_000) };
    const { metadata } = withKeptMetadata(withMetadata({ annotations: { ...read, ...foreign } }));
    expect(metadata.annotations).toEqual(read);
  });

  test("empty annotations and labels are kept where others were, and none where there were none", () => {
    const some = withMetadata({ annotations: { a: "b" }, labels: { a: "b" } });
    expect(withKeptMetadata(some, new Set()).metadata).toMatchObject({ annotations: {}, labels: {} });
    const none = withMetadata({ annotations: undefined, labels: undefined });
    expect(withKeptMetadata(none, new Set()).metadata).toEqual(none.metadata);
  });

  test("the labels of a selector and that of a pool are kept; all where the selector is not known", () => {
    const carried = { team: "a", shard: "b", other: "c", [labels.pool]: "web" };
    const kept = (selects: { names?: readonly string[] }) =>
      withKeptMetadata(withMetadata({ labels: carried }), labelsOfCompute(selects)).metadata.labels;
    const { other, ...needed } = carried;
    expect(kept(labelSelector("team=a,shard in (b,c),!gone"))).toEqual(needed);
    expect(kept(labelSelector(""))).toEqual({ [labels.pool]: "web" });
    expect(kept({})).toEqual({ ...needed, other });
  });

  test("our owners are kept, and one other, which says that there are others", () => {
    const ownerReferences = [theirs(0), ours, theirs(1), theirs(2)];
    const kept = withKeptMetadata(withMetadata({ ownerReferences })).metadata.ownerReferences;
    expect(kept).toEqual([ours, theirs(0)]);
  });

  test("the object that it is read from is left as it was, and finalizers keep their places", () => {
    const finalizers = ["example.com/one", "compute-operator.dev/endpoint"];
    const object = withMetadata({ finalizers, annotations: { a: "b" } });
    expect(withKeptMetadata(object).metadata.finalizers).toEqual(finalizers);
    expect(object.metadata.annotations).toEqual({ a: "b" });
  });
});
