import { describe, expect, test } from "vitest";
import { DeletionBrake } from "../../../../src/operator/compute/execute/gate.ts";
import type { ServiceResponse } from "../../../../src/operator/service-client/transport.ts";
import { compute, endpoint, madeBy, operation, uidOf } from "../../../support/builders.ts";
import { json, refusal } from "../../../support/scripted-service.ts";
import { VirtualClock } from "../../../support/virtual-clock.ts";
import { begun, closedBrake, deletedCompute, deletedEvent, made, mayExist, replaced, uid } from "./deleted-compute.ts";

describe("what a replaced and deleted Compute made", () => {
  test("is deleted, proved gone, and forgotten", async () => {
    const { reach, clock, expectSettled } = await deletedCompute();
    await clock.advance(2000);
    expect(reach.sent()).toEqual(["list", "DELETE ep-one", "list"]);
    expect(reach.reported).toEqual([deletedEvent]);
    await clock.advance(8500);
    expect(reach.sent()).toEqual([]);
    await clock.advance(3000);
    expect(reach.sent()).toEqual(["list", "GET ep-one"]);
    await expectSettled();
    expect(reach.reported).toEqual([deletedEvent]);
  });

  test("is read before it is deleted in a fleet, and stays if another cluster signed it since the list", async () => {
    const signature = (of: string) => `k8s-3f2a91bc-0123456789abcdef-${of.replaceAll("-", "")}`;
    const ours = madeBy(replaced, { name: signature(uid) });
    const still = await deletedCompute({ endpoints: [ours] });
    await still.clock.advance(600);
    expect(still.reach.sent()).toEqual(["list", "GET ep-one", "DELETE ep-one"]);
    const taken = await deletedCompute({ endpoints: [ours] });
    taken.reach.answer = ({ method, path }) => {
      if (method === "GET" && path.endsWith("ep-one"))
        taken.reach.endpoints.set("ep-one", { ...ours, name: signature(uidOf("z")) });
      return undefined;
    };
    await taken.clock.advance(120_000);
    expect(taken.reach.sent()).not.toContain("DELETE ep-one");
    expect(taken.reach.endpoints.has("ep-one")).toBe(true);
  });

  test("keeps its connection until then, and is known as one that is being deleted", async () => {
    const { cleanup, clock, reach } = await deletedCompute();
    const last = { ...replaced, metadata: { ...replaced.metadata, deletionTimestamp: "2026-01-01T00:50:00Z" } };
    expect(cleanup.all).toEqual([last]);
    expect(cleanup.of(uid)).toEqual(last);
    await clock.advance(14_000);
    expect(cleanup.of(uid)).toBeUndefined();
    expect(await cleanup.reconcile(uid)).toEqual({});
    expect(reach.reported).toHaveLength(1);
  });

  test("leaves its project's turn to write to others between its own writes", async () => {
    const { session, clock, reach } = await deletedCompute();
    const turn = session?.project("shiny-wind-028834").writeLimiter;
    const answer = Promise.withResolvers<ServiceResponse>();
    reach.answer = ({ method }) => (method === "DELETE" ? answer.promise : undefined);
    await clock.advance(100);
    expect(reach.sent()).toContain("DELETE ep-one");
    expect(turn?.take("another")).toBe(false);
    answer.resolve(json(200, { endpoint: endpoint() }));
    await clock.advance(100);
    expect(turn?.take("another")).toBe(true);
  });

  test("is left to the previous process for a minute where the Compute has just come under this selector", async () => {
    const { reach, clock } = await deletedCompute({ state: { ...made, enteredAt: begun - 10_000 } });
    await clock.advance(49_000);
    expect(reach.sent()).toEqual([]);
    await clock.advance(2000);
    expect(reach.sent()).toContain("DELETE ep-one");
  });

  test("that the project refuses to delete pauses the project's writes", async () => {
    const { session, clock, reach } = await deletedCompute();
    const turn = session?.project("shiny-wind-028834").writeLimiter;
    reach.answer = ({ method }) => (method === "DELETE" ? refusal(423) : undefined);
    while (!reach.sent().includes("DELETE ep-one")) await clock.advance(1);
    expect(turn?.take("another")).toBe(false);
    await clock.advance(100);
    expect(turn?.take("another")).toBe(true);
  });

  test("has the operations of its deletion followed, so that nobody else writes while they run", async () => {
    const { session, clock, reach } = await deletedCompute();
    reach.answer = ({ method }) =>
      method === "DELETE" ? json(200, { endpoint: endpoint(), operations: [operation()] }) : undefined;
    await clock.advance(600);
    expect(session?.project("shiny-wind-028834").operations.followed.writesRunningAt(0)).toBe(1);
  });

  test("is deleted again while lists show it, with an event for each deletion that the service confirms", async () => {
    const { reach, clock } = await deletedCompute();
    const answers = [refusal(500), refusal(423), refusal(404)];
    reach.answer = ({ method }) => (method === "DELETE" ? answers.shift() : undefined);
    for (let n = 0; n < 200 && answers.length > 0; n += 1) await clock.advance(50);
    expect(answers).toEqual([]);
    expect(reach.reported).toEqual([]);
    await clock.advance(60_000);
    expect(reach.reported).toEqual([deletedEvent]);
  });

  test("is not deleted on a list from before its last DELETE", async () => {
    const { reach, clock } = await deletedCompute();
    await clock.advance(600);
    expect(reach.sent()).toEqual(["list", "DELETE ep-one"]);
    reach.enqueue(uid);
    await clock.advance(100);
    expect(reach.sent()).not.toContain("DELETE ep-one");
  });

  test("waits for the brake, and continues automatically", async () => {
    let open = false;
    const counted: string[] = [];
    const brake = {
      mayGo: () => open,
      isExhausted: true,
      count: (one: string) => counted.push(one),
      sent: () => {},
      leave: () => {},
    };
    const { reach, clock } = await deletedCompute({ brake });
    await clock.advance(70_000);
    expect(reach.sent()).not.toContain("DELETE ep-one");
    open = true;
    await clock.advance(60_000);
    expect(reach.sent()).toContain("DELETE ep-one");
    expect(counted).toEqual([uid]);
  });

  test("no longer waits for the brake once a person is asked to delete it", async () => {
    const clock = new VirtualClock();
    const brake = new DeletionBrake(clock, 0);
    const { reach, clock: time, settled } = await deletedCompute({ brake });
    await time.advance(60_000);
    expect(brake.held).toBe(1);
    await time.advance(3_700_000);
    expect(settled).toEqual([uid]);
    expect(reach.reported).toEqual([mayExist]);
    expect(brake.held).toBe(0);
  });

  test("stays while the API server still has the Compute: only the watch no longer showed it", async () => {
    const { reach, clock } = await deletedCompute({ stored: true });
    await clock.advance(10_000);
    expect(reach.sent()).not.toContain("DELETE ep-one");
    reach.removeStored();
    reach.stored();
    await clock.advance(30_000);
    expect(reach.sent()).toContain("DELETE ep-one");
  });

  test("stands when the Compute is seen again, and nothing is listed for it", async () => {
    const { reach, clock, cleanup } = await deletedCompute({ brake: closedBrake });
    await clock.advance(2000);
    cleanup.back(uid);
    expect(cleanup.all).toEqual([]);
    reach.sent();
    await clock.advance(600_000);
    expect(reach.sent()).toEqual([]);
  });

  test("stands while the CRD itself is being deleted", async () => {
    const { reach, clock, expectSettled } = await deletedCompute({ uninstalling: true });
    await clock.advance(2000);
    expect(reach.sent()).toEqual(["list"]);
    expect(reach.reported).toEqual([]);
    await expectSettled();
  });

  test("stands where another Compute is linked to it by now", async () => {
    const replacement = compute({ uid: uidOf("b"), name: "replacement", linked: "ep-one" });
    const { reach, clock, expectSettled } = await deletedCompute({ endpoints: [endpoint()], others: [replacement] });
    await clock.advance(2000);
    expect(reach.sent()).toEqual(["list"]);
    await expectSettled();
  });

  test("is found by its id where the service shows no names", async () => {
    const { reach, clock, expectSettled } = await deletedCompute({
      state: { proved: { endpointID: "ep-one", proof: "created" } },
      endpoints: [endpoint(), endpoint({ id: "ep-two" })],
    });
    await clock.advance(14_000);
    expect([...reach.endpoints.keys()]).toEqual(["ep-two"]);
    await expectSettled();
  });

  test("stays if it was given another name since, and this is reported within the hour", async () => {
    const { reach, clock, settled } = await deletedCompute({ endpoints: [endpoint({ name: "mine now" })] });
    await clock.advance(3_599_000);
    expect(settled).toEqual([]);
    await clock.advance(120_000);
    expect(reach.reported).toEqual([mayExist]);
    expect(reach.endpoints.size).toBe(1);
    expect(settled).toEqual([uid]);
    expect(reach.sent().filter((one) => one.startsWith("DELETE"))).toEqual([]);
  });

  test("is proved gone by its own GET, which begins the proof again where it shows it", async () => {
    const { reach, clock, settled } = await deletedCompute({ endpoints: [] });
    const answers = [json(200, { endpoint: endpoint() }), refusal(500), refusal(500), refusal(500), refusal(500)];
    reach.answer = ({ path }) => (path.endsWith("/ep-one") ? answers.shift() : undefined);
    await clock.advance(10_500);
    expect(reach.sent()).toEqual(["list", "list", "GET ep-one"]);
    await clock.advance(9000);
    expect(reach.sent()).toEqual(["list"]);
    expect(settled).toEqual([]);
    await clock.advance(40_000);
    expect(answers).toEqual([]);
    expect(settled).toEqual([uid]);
  });
});
