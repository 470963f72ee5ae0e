import { describe, expect, test } from "vitest";
import {
  labelsOfCompute,
  labelsOfMaker,
  noLabels,
  withKeptMetadata,
} from "../../../src/operator/manager/kept-metadata.ts";
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
    const { metadata } = withKeptMetadata(withMetadata({ annotations: { ...read, ...foreign } }), noLabels);
    expect(metadata.annotations).toEqual(read);
  });

  test("empty annotations and labels are kept where others were, and none where there were none", () => {
    const some = withMetadata({ annotations: { a: "b" }, labels: { a: "b" } });
    expect(withKeptMetadata(some, noLabels).metadata).toMatchObject({ annotations: {}, labels: {} });
    const none = withMetadata({ annotations: undefined, labels: undefined });
    expect(withKeptMetadata(none, noLabels).metadata).toEqual(none.metadata);
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
    const kept = withKeptMetadata(withMetadata({ ownerReferences }), noLabels).metadata.ownerReferences;
    expect(kept).toEqual([ours, theirs(0)]);
  });

  test("many owners are cut to the controlling one, some of ours and one other, and their texts to what a name may have", () => {
    const many = Array.from({ length: 5000 }, (_, n) => ({ ...ours, name: `pool-${n}` }));
    const long = "x".repeat(1_000_000);
    const other = { apiVersion: long, kind: long, name: long, uid: long };
    const ownerReferences = [...many, { ...ours, name: long }, other, { ...ours, controller: true }];
    const kept = withKeptMetadata(withMetadata({ ownerReferences }), noLabels).metadata.ownerReferences ?? [];
    expect(kept[0]).toEqual({ ...ours, controller: true });
    expect(JSON.stringify(kept).length).toBeLessThan(3000);
    expect(kept.at(-1)?.name).toBe("x".repeat(254));
  });

  test("many labels that are given on are cut to a selector's, and less than a tenth of a megabyte of others", () => {
    const carried = Object.fromEntries(
      Array.from({ length: 10_000 }, (_, n) => [`example.com/label-${n}`, "x".repeat(60)]),
    );
    const { metadata } = withKeptMetadata(
      withMetadata({ labels: { ...carried, shard: "b" } }),
      labelsOfMaker(labelSelector("shard=b")),
    );
    expect(metadata.labels).toMatchObject({ shard: "b", "example.com/label-0": "x".repeat(60) });
    expect(JSON.stringify(metadata.labels).length).toBeLessThan(100_000);
  });

  test("many finalizers are cut to those that are read, at their places, and no names of others", () => {
    const few = ["example.com/one", "compute-operator.dev/endpoint", "orphan"];
    const kept = (finalizers: string[]) =>
      withKeptMetadata(withMetadata({ finalizers }), noLabels).metadata.finalizers ?? [];
    expect(kept(few)).toEqual(["", "compute-operator.dev/endpoint", "orphan"]);
    const many = Array.from({ length: 50_000 }, (_, n) => `example.com/${n}`);
    const held = kept([...many, "compute-operator.dev/endpoint", "compute-operator.dev/endpoint"]);
    expect(held.indexOf("compute-operator.dev/endpoint")).toBe(50_000);
    expect(Object.keys(held).length).toBeLessThan(200);
    expect(kept(many).length).toBeGreaterThan(0);
  });

  test("the object that it is read from is left as it was", () => {
    const object = withMetadata({ finalizers: ["example.com/one"], annotations: { a: "b" } });
    withKeptMetadata(object, noLabels);
    expect(object.metadata).toMatchObject({ finalizers: ["example.com/one"], annotations: { a: "b" } });
  });
});
