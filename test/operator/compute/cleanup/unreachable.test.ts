import { describe, expect, test } from "vitest";
import { connection } from "../../../support/connections.ts";
import { refusal } from "../../../support/scripted-service.ts";
import { closedBrake, deletedCompute, deletedEvent, made, mayExist, pending, uid } from "./deleted-compute.ts";

describe("a service that cannot be reached", () => {
  test.each([
    ["an endpoint whose id is known", made, mayExist],
    ["one that a create without a reply may have made", pending(), expect.stringContaining(`k8s-${uid}`)],
  ])("is tried for an hour; then an event asks a person about %s", async (_, state, reported) => {
    const { reach, clock, settled, expectSettled } = await deletedCompute({ joined: false, state });
    await clock.advance(3_599_000);
    expect(reach.reported).toEqual([]);
    expect(settled).toEqual([]);
    await clock.advance(120_000);
    expect(reach.reported).toEqual([reported]);
    await expectSettled();
  });

  test("is asked as soon as the connection is ready", async () => {
    const { reach, clock } = await deletedCompute({ joined: false });
    await clock.advance(30_000);
    await reach.join();
    await clock.advance(60_000);
    expect(reach.reported).toEqual([deletedEvent]);
  });

  test("is asked again when its lists fail", async () => {
    const { reach, clock } = await deletedCompute({});
    reach.answer = ({ path }) => (path.endsWith("/endpoints") ? refusal(500) : undefined);
    await clock.advance(150_000);
    reach.answer = () => undefined;
    await clock.advance(120_000);
    expect(reach.reported).toEqual([deletedEvent]);
  });

  test("is asked through the key that the connection has by now, and not listed with the former one", async () => {
    const sharing = connection({ name: "sharing", uid: "connection-2" });
    const { reach, clock, session } = await deletedCompute({ brake: closedBrake });
    await clock.advance(2000);
    const [first = sharing] = reach.connections;
    await reach.join(sharing);
    reach.rotate("another-key");
    const renewed = connection();
    reach.connections = [renewed];
    const after = await reach.join(renewed);
    expect(first).not.toBe(renewed);
    await clock.advance(120_000);
    expect(session?.listers.size).toBe(0);
    expect(after.listers.size).toBe(1);
  });

  test("keeps no worker waiting while the budget is spent", async () => {
    const { reach, clock, session, settled } = await deletedCompute({
      endpoints: [],
      limits: { perMinute: 5, burst: 5 },
    });
    // Others take what is left behind each request.
    reach.answer = () => {
      while (session?.budget.tryTake("write", "others", () => {}) === true);
      session?.budget.leave("others");
      return undefined;
    };
    for (let n = 0; n < 100; n += 1) {
      expect(reach.inProgress).toBe(0);
      await clock.advance(1000);
    }
    expect(settled).toEqual([uid]);
  });

  test("is asked through another key while it wants no requests with the former", async () => {
    const { reach, clock, session, settled } = await deletedCompute({ endpoints: [] });
    await clock.advance(5000);
    reach.answer = () => {
      session?.budget.closeFor(3_000_000);
      return undefined;
    };
    await clock.advance(70_000);
    expect(reach.inProgress).toBe(0);
    reach.rotate("another-key");
    reach.answer = () => undefined;
    await reach.join();
    await clock.advance(90_000);
    expect(settled).toEqual([uid]);
  });
});
