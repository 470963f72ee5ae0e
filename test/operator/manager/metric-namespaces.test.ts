import { expect, test } from "vitest";
import { ComputeCounts } from "../../../src/operator/manager/compute-counts.ts";
import { MetricNamespaces } from "../../../src/operator/manager/metric-namespaces.ts";
import { compute, uidOf } from "../../support/builders.ts";

/** Counts of so many Computes in each namespace. */
function countsOf(sizes: Readonly<Record<string, number>>) {
  const counts = new ComputeCounts();
  const change = (type: "added" | "deleted", namespace: string) =>
    counts.change({ type, object: compute({ uid: uidOf("a"), namespace }) });
  for (const [namespace, size] of Object.entries(sizes)) {
    for (let index = 0; index < size; index += 1) change("added", namespace);
  }
  return { counts, change };
}

test("the label namespace names the namespaces with the most Computes, and of equal ones the first by name", () => {
  const { counts } = countsOf({ few: 1, b: 3, a: 3, c: 3, many: 9 });
  const labels = new MetricNamespaces(2, counts);
  labels.refresh();
  expect(["many", "a", "b", "c", "few", "unknown"].map((namespace) => labels.of(namespace))).toEqual([
    "many",
    "a",
    "other",
    "other",
    "other",
    "other",
  ]);
});

test("the label namespace has its names before the first scrape too", () => {
  const { counts } = countsOf({ few: 1, many: 9 });
  expect(new MetricNamespaces(1, counts).of("many")).toBe("many");
});

test("the label namespace follows the Computes with each scrape", () => {
  const { counts, change } = countsOf({ a: 2, b: 1 });
  const labels = new MetricNamespaces(1, counts);
  labels.refresh();
  expect(labels.of("a")).toBe("a");
  change("deleted", "a");
  change("deleted", "a");
  expect(labels.of("a")).toBe("a");
  labels.refresh();
  expect([labels.of("a"), labels.of("b")]).toEqual(["other", "b"]);
});

test("the label namespace names the listed namespaces, whatever they hold", () => {
  const { counts } = countsOf({ many: 9 });
  const labels = new MetricNamespaces(["shop", "stock"], counts);
  labels.refresh();
  expect(["shop", "stock", "many"].map((namespace) => labels.of(namespace))).toEqual(["shop", "stock", "other"]);
});

test("the label is none without a Compute, and other where no namespace may be named", () => {
  const { counts } = countsOf({ shop: 1 });
  const labels = new MetricNamespaces(0, counts);
  labels.refresh();
  expect([labels.of("shop"), labels.of(undefined)]).toEqual(["other", "none"]);
});
