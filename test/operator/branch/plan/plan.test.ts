import { expect, test } from "vitest";
import { branch, day, hour, inMs, minute, planned, second, shows } from "../builders.ts";

test.each([
  ["true", undefined],
  [inMs(minute), minute],
  [inMs(second), second],
  [inMs(3 * day), 24 * hour],
])("a Branch that is paused by %s is reconciled again in %s ms", (paused, afterMs) => {
  const object = branch({ linked: "br-one", annotations: { paused } });
  expect(planned({ object })).toEqual({ ...shows("Paused"), afterMs });
});

test("a Branch whose pause is over is planned as any other", () => {
  expect(planned({ object: branch({ linked: "br-one", annotations: { paused: inMs(0) } }) })).toEqual(
    shows("Available"),
  );
});
