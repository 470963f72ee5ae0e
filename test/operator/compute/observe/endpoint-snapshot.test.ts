import { expect, test } from "vitest";
import { markersIn } from "../../../../src/operator/compute/observe/endpoint-snapshot.ts";
import { EndpointIndex } from "../../../../src/operator/compute/observe/ownership.ts";
import { compute, createdNote, createMark, endpoint, rivalsAmong } from "../../../support/builders.ts";

const markers = (self = compute(), listed = [endpoint()]) =>
  markersIn(self, new EndpointIndex(listed), rivalsAmong(self, []), "here");

test("whether names are shown is not known until a list shows one, or what a Compute made without one", () => {
  expect(markers()).toBe("unknown");
  expect(markers(compute(), [endpoint(), endpoint({ id: "ep-two", name: "by hand" })])).toBe("shown");
  const maker = compute({ linked: "ep-one", annotations: { createdEndpoint: createdNote("ep-one") } });
  expect(markers(maker)).toBe("hidden");
});

test("names that were shown when a create was sent are shown, as long as it is the same base URL and key", () => {
  const pending = (fields: Parameters<typeof createMark>[0]) =>
    compute({ annotations: { pendingCreate: createMark(fields) } });
  expect(markers(pending({}))).toBe("unknown");
  expect(markers(pending({ named: true }))).toBe("shown");
  expect(markers(pending({ named: true, through: "there" }))).toBe("unknown");
});
