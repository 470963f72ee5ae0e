import { describe, expect, test } from "vitest";
import { compute, createMark, endpoint, madeBy, uidOf } from "../../../support/builders.ts";
import { json } from "../../../support/scripted-service.ts";
import { deletedCompute, deletedEvent, made, mayExist, pending, replaced } from "./deleted-compute.ts";

describe("nothing is asked of the service, and nothing is reported, for a Compute", () => {
  test.each([
    ["that made nothing", replaced, {}],
    ["that was let go", replaced, { ...made, released: true as const }],
    ["whose finalizer somebody took off by hand", compute({ guarded: false, linked: "ep-one" }), made],
    ["that retains its endpoint", compute({ guarded: false, spec: { deletionPolicy: "Retain" } }), made],
    ["that is paused", compute({ guarded: false, annotations: { paused: "true" } }), made],
    ["that is seen with its finalizer to the last, and made nothing", compute(), {}],
    [
      "whose finalizer somebody took off with its mark",
      compute({ guarded: false, annotations: { pendingCreate: createMark() } }),
      pending(),
    ],
  ])("%s", async (_, last, state) => {
    const { reach, clock, expectSettled } = await deletedCompute({ last, state });
    await clock.advance(10);
    expect(reach.sent()).toEqual([]);
    await expectSettled();
    expect(reach.reported).toEqual([]);
    expect(reach.endpoints.size).toBe(1);
  });

  test.each([
    ["was taken over", replaced, { proved: { endpointID: "ep-one", proof: "adopted" as const } }],
    ["was made by one that is seen with its finalizer to the last", compute(), made],
  ])("but of an endpoint that %s", async (_, last, state) => {
    const { reach, clock, expectSettled } = await deletedCompute({ last, state });
    await clock.advance(10);
    expect(reach.sent()).toEqual([]);
    expect(reach.reported).toEqual([mayExist]);
    await expectSettled();
  });
});

describe("a create whose outcome is not known", () => {
  test("is waited for until it can take effect no more, and what it makes is deleted", async () => {
    const { reach, clock, settled, expectSettled } = await deletedCompute({ state: pending(), endpoints: [] });
    await clock.advance(31_000);
    expect(settled).toEqual([]);
    reach.endpoints.set("ep-one", madeBy(replaced));
    await clock.advance(12_000);
    expect(reach.endpoints.size).toBe(0);
    expect(reach.reported).toEqual([deletedEvent]);
    await clock.advance(30_000);
    await expectSettled();
  });

  test("that made nothing is forgotten without a word", async () => {
    const { reach, clock, settled, expectSettled } = await deletedCompute({ state: pending(), endpoints: [] });
    await clock.advance(59_000);
    expect(settled).toEqual([]);
    await clock.advance(12_000);
    expect(reach.reported).toEqual([]);
    await expectSettled();
  });

  test("is waited for also where another endpoint of the Compute is proved gone", async () => {
    const state = { ...made, ...pending({ resent: true }) };
    const { reach, clock, expectSettled } = await deletedCompute({ state, endpoints: [] });
    await clock.advance(50_000);
    expect(reach.sent().filter((one) => one.startsWith("GET"))).toEqual(["GET ep-one"]);
    reach.endpoints.set("ep-two", madeBy(replaced, { id: "ep-two" }));
    await clock.advance(25_000);
    expect(reach.endpoints.size).toBe(0);
    await expectSettled();
  });

  test("may have created an endpoint without a name: an event lists every candidate", async () => {
    const fits = [endpoint({ id: "ep-b" }), endpoint({ id: "ep-a" })];
    const others = [
      endpoint({ id: "ep-branch", branch_id: "br-other" }),
      endpoint({ id: "ep-type", type: "read_only" }),
      endpoint({ id: "ep-linked" }),
    ];
    const { reach, clock, expectSettled } = await deletedCompute({
      state: pending(),
      endpoints: [...fits, ...others],
      others: [compute({ uid: uidOf("b"), name: "other", linked: "ep-linked" })],
    });
    await clock.advance(71_000);
    expect(reach.reported).toEqual([expect.stringMatching(/^Warning Released: .*: ep-a, ep-b\.$/)]);
    expect(reach.endpoints.size).toBe(5);
    await expectSettled();
  });

  test.each([
    ["was known to show names when it was sent", pending({ named: true }), []],
    ["shows names by now", pending(), [endpoint({ id: "ep-named", name: "of-a-person" })]],
  ])("at a service that %s made none without a name", async (_, state, more) => {
    const { reach, clock, expectSettled } = await deletedCompute({
      state,
      endpoints: [endpoint({ id: "ep-b" }), ...more],
    });
    await clock.advance(71_000);
    expect(reach.reported).toEqual([]);
    await expectSettled();
  });

  test("may have made one on any branch where it is not known to which it was sent", async () => {
    const elsewhere = endpoint({ id: "ep-b", branch_id: "br-before" });
    const { reach, clock } = await deletedCompute({ state: pending({ branchID: "?" }), endpoints: [elsewhere] });
    await clock.advance(71_000);
    expect(reach.reported).toEqual([expect.stringContaining("ep-b")]);
  });

  test("may have made one whose name cannot be read", async () => {
    const unread = { ...endpoint({ id: "ep-b" }), name: 7 };
    const { reach, clock } = await deletedCompute({ state: pending({ named: true }), endpoints: [] });
    reach.answer = ({ path }) => (path.endsWith("/endpoints") ? json(200, { endpoints: [unread] }) : undefined);
    await clock.advance(71_000);
    expect(reach.reported).toEqual([expect.stringContaining("ep-b")]);
  });
});
