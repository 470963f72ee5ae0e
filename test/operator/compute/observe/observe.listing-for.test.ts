import { describe, expect, test } from "vitest";
import { observe } from "../../../../src/operator/compute/observe/observe.ts";
import { signatureOf } from "../../../../src/operator/resources/signature.ts";
import { compute, endpoint, madeBy, recordOf, uidOf } from "../../../support/builders.ts";
import { observing, reported } from "./observing.ts";

/** A Compute whose project was listed, and whose endpoint was then written to; the answer shows it whole. */
async function written(fields: Parameters<typeof observing>[0] = {}) {
  const one = await observing({ status: reported(), ...fields });
  await one.seen();
  const answered = madeBy(one.self, { pooler_enabled: true });
  const write = () => one.state.answerLaidOver(one.lister.answered(answered));
  return { ...one, write };
}

describe("after a write whose answer shows the whole endpoint", () => {
  test("a plan is made on that answer, laid over the list from before", async () => {
    const { observeNow, write } = await written();
    write();
    expect(await observeNow()).toMatchObject({
      kind: "observed",
      laidOver: true,
      links: { link: { endpoint: { pooler_enabled: true } } },
    });
  });

  test.each<[string, Parameters<typeof observing>[0]]>([
    ["a deletion", { deleting: true }],
    ["an open create", { status: { ...reported(), pendingWrite: recordOf() } }],
    ["a restart", { annotations: { restartedAt: "now" } }],
  ])("%s needs a list from after the write", async (_, fields) => {
    const { observeNow, write, clock, state, self } = await written(fields);
    state.noteVersion(self, clock.monotonic());
    write();
    expect(await observeNow()).toMatchObject({ kind: "pending" });
    await clock.advance(2000);
    expect(await observeNow()).toMatchObject({ kind: "observed" });
  });

  test("a loss needs a list from after the write", async () => {
    const { observeNow, write, reach, lister, clock } = await written();
    reach.endpoints.delete("ep-one");
    lister.listedAfter(clock.monotonic(), "somebody");
    await clock.advance(2000);
    write();
    lister.wrote("ep-one");
    expect(await observeNow()).toMatchObject({ kind: "pending" });
  });

  test("a later write whose outcome is not known needs one too", async () => {
    const { observeNow, write, state, lister, clock } = await written();
    write();
    await clock.advance(1);
    state.needListAfter(lister.wrote("ep-one"));
    expect(await observeNow()).toMatchObject({ kind: "pending" });
  });
});

describe("the first create", () => {
  /** A Compute that is first seen some time after its project was listed. */
  async function late(fields: Parameters<typeof observing>[0] = {}, firstCreateAfter = -1) {
    const one = await observing({ unlinked: true, ...fields });
    one.reach.endpoints.delete("ep-one");
    one.reach.endpoints.set("ep-two", endpoint({ id: "ep-two", name: "theirs" }));
    await one.seen();
    const { observeNow, state } = one;
    Object.assign(state.known, { seenSince: 5000, lists: { countAfter: 5000, firstCreateAfter } });
    await one.clock.advance(5000 - one.clock.monotonic());
    return { ...one, observeNow };
  }
  const replica = { spec: { type: "read_only", branchID: "br-new" } } as const;

  test("the first create is planned on the latest list, though that began before the Compute was seen", async () => {
    const { observeNow } = await late(replica);
    expect(await observeNow()).toMatchObject({ kind: "observed", links: { link: undefined } });
  });

  test.each<[string, Parameters<typeof late>]>([
    ["from before a watch was lost", [replica, 4000]],
    ["where the branch has a primary", [{ spec: { branchID: endpoint().branch_id } }]],
    ["where it is to adopt", [{ spec: { ...replica.spec, adopt: { endpointID: "ep-two" } } }]],
  ])("the first create is not planned on a list %s", async (_, [fields, firstCreateAfter]) => {
    const { observeNow } = await late(fields, firstCreateAfter);
    expect(await observeNow()).toMatchObject({ kind: "pending" });
  });
});

test("a takeover needs a list from after a write to the endpoint for another Compute, as its deletion", async () => {
  const fleet = "3f2a91bc";
  const one = await observing({ unlinked: true, spec: { adopt: { former: true } }, status: reported() });
  const { subject, state, connection, access, lister, reach, clock } = one;
  const former = signatureOf(compute({ uid: uidOf("f") }), fleet);
  reach.endpoints.set("ep-one", endpoint({ name: former }));
  await one.seen();
  const observed = () => observe({ ...subject(), fleet }, state.known, connection(), access);
  expect(await observed()).toMatchObject({ kind: "observed" });
  lister.wrote("ep-one");
  expect(await observed()).toMatchObject({ kind: "pending" });
  await clock.advance(2000);
  expect(await observed()).toMatchObject({ kind: "observed" });
});
