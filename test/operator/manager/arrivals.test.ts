import { expect, test } from "vitest";
import type { Change } from "../../../src/operator/kube/store.ts";
import { Arrivals } from "../../../src/operator/manager/arrivals.ts";
import type { Compute } from "../../../src/operator/resources/compute.ts";
import { compute } from "../../support/builders.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";

const labelled = (shard: string) => {
  const one = compute({ uid: "u" });
  return { ...one, metadata: { ...one.metadata, labels: { shard } } };
};

test("a Compute arrives when its labels change to those selected, and not when it is first seen with them", async () => {
  const clock = new VirtualClock();
  const arrivals = new Arrivals(({ shard } = {}) => shard === "a", clock);
  const at = async (shard: string, before?: string) => {
    await clock.advance(1000);
    const object = labelled(shard);
    const change: Change<Compute> =
      before === undefined ? { type: "added", object } : { type: "updated", object, previous: labelled(before) };
    arrivals.change(change);
    return arrivals.of("u");
  };
  expect(await at("a")).toBeUndefined();
  expect(await at("a", "a")).toBeUndefined();
  expect(await at("b", "a")).toBeUndefined();
  expect(await at("a", "b")).toBe(4000);
  // Other changes leave it.
  expect(await at("a", "a")).toBe(4000);
  expect(await at("b", "a")).toBeUndefined();
  expect(await at("a", "b")).toBe(7000);
  arrivals.change({ type: "deleted", object: labelled("a"), previous: labelled("a") });
  expect(arrivals.of("u")).toBeUndefined();
});
