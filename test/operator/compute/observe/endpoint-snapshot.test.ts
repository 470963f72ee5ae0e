import { describe, expect, test } from "vitest";
import { pendingCreateOf } from "../../../../src/operator/compute/observe/annotations.ts";
import { markersIn } from "../../../../src/operator/compute/observe/endpoint-snapshot.ts";
import { EndpointIndex } from "../../../../src/operator/compute/observe/ownership.ts";
import { claimantsAmong, compute, createdNote, createMark, endpoint, uidOf } from "../../../support/builders.ts";
import { connection } from "../../../support/connections.ts";
import { observing } from "./observing.ts";

const markers = (self = compute(), listed = [endpoint()]) =>
  markersIn(pendingCreateOf(self), new EndpointIndex(listed), claimantsAmong(self, []), "here");

test("whether names are shown is not known until a list shows one, or what a Compute made without one", () => {
  expect(markers()).toBe("unknown");
  expect(markers(compute(), [endpoint(), endpoint({ id: "ep-two", name: "by hand" })])).toBe("shown");
  const maker = compute({ linked: "ep-one", annotations: { createdEndpoint: createdNote("ep-one") } });
  expect(markers(maker)).toBe("hidden");
  const self = compute({ uid: uidOf("b"), name: "another" });
  expect(markersIn(undefined, new EndpointIndex([endpoint()]), claimantsAmong(self, [maker]), "here")).toBe("hidden");
});

test("names that were shown when a create was sent are shown, as long as it is the same base URL and key", () => {
  const pending = (fields: Parameters<typeof createMark>[0]) =>
    compute({ annotations: { pendingCreate: createMark(fields) } });
  expect(markers(pending({}))).toBe("unknown");
  expect(markers(pending({ named: true }))).toBe("shown");
  expect(markers(pending({ named: true, through: "there" }))).toBe("unknown");
});

describe("what a list says of one Compute", () => {
  const listed = async (one: Awaited<ReturnType<typeof observing>>) => {
    const observation = await one.seen();
    if (observation.kind !== "observed") throw new Error(observation.kind);
    return observation;
  };

  test("how many endpoints of the project are missing, where its own is: those of deleted Computes do not count", async () => {
    const others = [
      compute({ uid: uidOf("b"), name: "b", linked: "ep-two" }),
      compute({ uid: uidOf("c"), name: "c", linked: "ep-gone" }),
      compute({ uid: uidOf("d"), name: "d", linked: "ep-gone-too", deleting: true }),
      compute({ uid: uidOf("e"), name: "e" }),
    ];
    const lost = await observing({ linked: "ep-lost" }, others);
    lost.reach.endpoints.delete("ep-one");
    expect((await listed(lost)).notListed).toEqual({ missing: 2, known: 3 });
    expect((await listed(await observing({}, others))).notListed).toEqual({ missing: 0, known: 0 });
  });

  test("names count as shown as soon as any answer of the service showed one", async () => {
    const one = await observing();
    one.reach.endpoints.set("ep-one", endpoint());
    expect((await listed(one)).markers).toBe("unknown");
    one.reach.endpoints.set("ep-two", endpoint({ id: "ep-two", name: "by hand" }));
    await one.clock.advance(40_000);
    one.reach.endpoints.delete("ep-two");
    await one.clock.advance(40_000);
    expect((await listed(one)).markers).toBe("shown");
  });

  test("whether the connection is being deleted", async () => {
    const one = await observing();
    expect((await listed(one)).terminating).toBe(false);
    one.reach.connections = [connection({ deleting: true })];
    expect((await listed(one)).terminating).toBe(true);
  });
});
