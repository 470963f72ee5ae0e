import { describe, expect, test } from "vitest";
import { fingerprintOf } from "../../../../src/operator/resources/fingerprint.ts";
import { compute, uidOf } from "../../../support/builders.ts";
import { observing } from "./observing.ts";

describe("what a list says of one Compute", () => {
  const listed = async (one: Awaited<ReturnType<typeof observing>>) => {
    const observation = await one.seen();
    if (observation.kind !== "observed") throw new Error(observation.kind);
    return observation;
  };

  test("how many endpoints of the project are missing, where its own is: those of deleted Computes do not count", async () => {
    const status = { observedThrough: fingerprintOf("https://service.example.com/api/v2", "a-key") };
    const others = [
      compute({ uid: uidOf("b"), name: "b", linked: "ep-two", status }),
      compute({ uid: uidOf("c"), name: "c", linked: "ep-gone", status }),
      compute({ uid: uidOf("d"), name: "d", linked: "ep-gone-too", deleting: true, status }),
      compute({ uid: uidOf("e"), name: "e", status }),
    ];
    const lost = await observing({ linked: "ep-lost", status }, others);
    lost.reach.endpoints.delete("ep-one");
    expect((await listed(lost)).notListed).toEqual({ missing: 2, known: 3 });
    expect((await listed(await observing({}, others))).notListed).toEqual({ missing: 0, known: 0 });
  });
});
