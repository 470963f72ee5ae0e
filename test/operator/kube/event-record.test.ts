import { expect, test } from "vitest";
import { newEvent, occurredAgain } from "../../../src/operator/kube/event-record.ts";

const at = Date.parse("2026-01-01T00:00:05Z");
const metadata = { name: "a", namespace: "shop", uid: "u-1", resourceVersion: "5" };
const subject = { apiVersion: "compute-operator.dev/v1alpha1", kind: "Compute", metadata };
const input = { type: "Warning", reason: "Conflict", message: "There are two." } as const;
const about = { component: "compute-operator", at, count: 2, suffix: "0f" };

test("an event is written with all that kubectl shows of it", () => {
  expect(newEvent(subject, input, about)).toEqual({
    apiVersion: "v1",
    kind: "Event",
    metadata: { name: "a.0f", namespace: "shop" },
    involvedObject: { apiVersion: "compute-operator.dev/v1alpha1", kind: "Compute", ...metadata },
    type: "Warning",
    reason: "Conflict",
    message: "There are two.",
    source: { component: "compute-operator" },
    reportingComponent: "compute-operator",
    firstTimestamp: "2026-01-01T00:00:05Z",
    lastTimestamp: "2026-01-01T00:00:05Z",
    count: 2,
  });
});

test("an event about an object of the cluster stands in the namespace default", () => {
  const { namespace: _, ...named } = metadata;
  const event = newEvent({ ...subject, metadata: named }, input, about);
  expect(event.metadata.namespace).toBe("default");
  expect(event.involvedObject.namespace).toBeUndefined();
});

test("the name of an event has room for its suffix, and its message is clipped", () => {
  const long = newEvent({ ...subject, metadata: { ...metadata, name: "n".repeat(253) } }, input, about);
  expect(long.metadata.name).toBe(`${"n".repeat(200)}.0f`);
  expect(newEvent(subject, { ...input, message: "x".repeat(2000) }, about).message?.length).toBeLessThanOrEqual(1024);
});

test.each<[number | undefined, number]>([
  [3, 5],
  [undefined, 3],
])("an event of count %j that occurred twice more counts %d, on the very event", (count, counted) => {
  expect(occurredAgain({ metadata, count }, 2, at)).toEqual([
    { op: "test", path: "/metadata/uid", value: "u-1" },
    { op: "add", path: "/count", value: counted },
    { op: "add", path: "/lastTimestamp", value: "2026-01-01T00:00:05Z" },
  ]);
});
