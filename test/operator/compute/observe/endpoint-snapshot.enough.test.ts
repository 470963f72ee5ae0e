import { describe, expect, test } from "vitest";
import { EndpointIndex } from "../../../../src/operator/claims/ownership.ts";
import { notListedIn } from "../../../../src/operator/compute/observe/endpoint-snapshot.ts";
import { claimantsAmong, compute, endpoint, madeBy, uidOf } from "../../../support/builders.ts";
import { observing, reported } from "./observing.ts";

/** A Compute whose project was listed, and a list of it that is taken as the latest. */
async function listed(fields: Parameters<typeof observing>[0] = {}) {
  const one = await observing({ status: reported(), ...fields });
  if (fields.unlinked === true) one.reach.endpoints.set("ep-one", endpoint({ name: "theirs" }));
  await one.seen();
  const { observed } = one.lister;
  if (observed === undefined) throw new Error("no list came");
  await one.clock.advance(1000);
  return { ...one, observed };
}

describe("the latest list is enough", () => {
  test("where nothing was written since, and not where a write ended in the moment in which it began", async () => {
    const { observeNow, lister, observed, state } = await listed();
    expect(await observeNow()).toMatchObject({ kind: "observed" });
    lister.writtenAt = () => observed.startedAt;
    expect(await observeNow()).toMatchObject({ kind: "pending" });
    lister.writtenAt = () => observed.startedAt - 1;
    expect(await observeNow()).toMatchObject({ kind: "observed" });
    state.needListAfter(observed.startedAt);
    expect(await observeNow()).toMatchObject({ kind: "pending" });
  });

  test("not to delete one of two endpoints of one create, after a write", async () => {
    const { self, reach, clock, observeNow, lister, state } = await listed();
    reach.endpoints.set("ep-two", madeBy(self, { id: "ep-two", created_at: "2026-01-01T00:00:01Z" }));
    await clock.advance(60_000);
    expect(await observeNow()).toMatchObject({ kind: "observed", links: { duplicates: [{ id: "ep-two" }] } });
    state.answerLaidOver(lister.answered(madeBy(self, { pooler_enabled: true })));
    expect(await observeNow()).toMatchObject({ kind: "pending" });
  });

  test("for a restart only if it began after the endpoint's operations ended", async () => {
    const annotations = { endpointID: "ep-one", restartedAt: "now" };
    const { lister, observed, observeNow } = await listed({ annotations });
    expect(await observeNow()).toMatchObject({ kind: "observed" });
    const { followed } = lister.operations;
    followed.endedAt = () => observed.startedAt;
    expect(await observeNow()).toMatchObject({ kind: "pending" });
    followed.endedAt = () => observed.startedAt - 1;
    expect(await observeNow()).toMatchObject({ kind: "observed", operationsEndedAt: observed.startedAt - 1 });
  });

  test("for the end of a write that siblings wait for only if it began after the endpoint's operations ended", async () => {
    const { lister, observed, observeNow, state } = await listed();
    const { followed } = lister.operations;
    followed.endedAt = () => observed.startedAt;
    expect(await observeNow()).toMatchObject({ kind: "observed" });
    state.cuts(observed.startedAt - 1);
    expect(await observeNow()).toMatchObject({ kind: "pending" });
    followed.endedAt = () => observed.startedAt - 1;
    expect(await observeNow()).toMatchObject({ kind: "observed" });
  });

  test.each<[string, Parameters<typeof observing>[0]]>([
    ["a deletion", { deleting: true }],
    ["a restart that was carried out", { annotations: { endpointID: "ep-one", restartedAt: "now" } }],
    ["a restart whose annotation was taken away", {}],
  ])("for %s though its endpoint's operations ended since", async (what, fields) => {
    const status = what === "a deletion" ? {} : { restartedAt: "now" };
    const { lister, observed, observeNow } = await listed({ ...fields, status: { ...reported(), ...status } });
    lister.operations.followed.endedAt = () => observed.startedAt + 1;
    expect(await observeNow()).toMatchObject({ kind: "observed" });
  });

  test.each([
    ["for the first create if it began after the watch was complete", { firstCreateAfter: -1 }, "observed"],
    ["not if it began in that moment", { firstCreateAfter: 0 }, "pending"],
    ["not if something was written since the Compute was first seen", { countAfter: 1001 }, "pending"],
  ])("%s", async (_, offsets: { firstCreateAfter?: number; countAfter?: number }, kind) => {
    const spec = { type: "read_only", branchID: "br-new" };
    const { observed, observeNow, state } = await listed({ unlinked: true, spec });
    const { firstCreateAfter = -1, countAfter = 1000 } = offsets;
    Object.assign(state.known, {
      seenSince: observed.startedAt + 1000,
      lists: { countAfter: observed.startedAt + countAfter, firstCreateAfter: observed.startedAt + firstCreateAfter },
    });
    expect(await observeNow()).toMatchObject({ kind });
  });
});

test("the latest list is enough for the first create of a replica beside a primary, and not of a second primary", async () => {
  const first = async (type: string) => {
    const { observed, observeNow, state } = await listed({ unlinked: true, spec: { type, branchID: "br-main" } });
    Object.assign(state.known, {
      seenSince: observed.startedAt + 1000,
      lists: { countAfter: observed.startedAt + 1000, firstCreateAfter: observed.startedAt - 1 },
    });
    return (await observeNow()).kind;
  };
  expect([await first("read_only"), await first("read_write")]).toEqual(["observed", "pending"]);
});

test("how many linked endpoints a list lacks: those that no list has shown yet are not missed", () => {
  const self = compute({ linked: "ep-gone" });
  const claimants = claimantsAmong(self, [compute({ uid: uidOf("b"), name: "b", linked: "ep-one" })]);
  const list = { endpoints: new EndpointIndex([endpoint()]), fingerprint: "here" };
  expect(notListedIn(list, claimants)).toEqual({ missing: 1, known: 2 });
  expect(notListedIn(list, claimants, (id) => id === "ep-gone")).toEqual({ missing: 0, known: 1 });
});

test("how many linked endpoints a list lacks: those that only another service has shown are not missed", () => {
  const seenAt = (observedThrough: string | undefined) => ({ status: { observedThrough } });
  const self = compute({ linked: "ep-gone", ...seenAt("here-key") });
  const others = ["there-key", "here-former", undefined].map((through, n) =>
    compute({ uid: uidOf(n + 1), name: `c-${n}`, linked: `ep-${n}`, ...seenAt(through) }),
  );
  const list = { endpoints: new EndpointIndex([endpoint()]), fingerprint: "here-key" };
  expect(notListedIn(list, claimantsAmong(self, others))).toEqual({ missing: 2, known: 2 });
});
