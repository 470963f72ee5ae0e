import { describe, expect, test } from "vitest";
import type { Session } from "../../../src/operator/connection/session.ts";
import { json, refusal } from "../../support/scripted-service.ts";
import { setUp } from "./joined.ts";

const minute = 60_000;

describe("a service that does not answer a probe", () => {
  test("a service is unreachable when it does not answer a second probe either, five seconds later", async () => {
    const all = setUp();
    const session = await all.probed();
    all.answers["/projects"] = () => refusal(500);
    await all.clock.advance(10 * minute);
    session.probe();
    await all.clock.settle();
    expect([session.state.health.kind, session.state.probeInMs]).toEqual(["reachable", 5000]);
    await all.clock.advance(5000);
    session.probe();
    await all.clock.settle();
    expect(session.state.health.kind).toBe("unreachable");
  });
});

describe("a refused key", () => {
  async function refused() {
    const all = setUp();
    all.answers["/auth"] = () => refusal(401, "bad key");
    const session = await all.probed();
    await again(all, session);
    return { ...all, session };
  }

  /** A second probe, as soon as one is due. */
  async function again({ clock }: ReturnType<typeof setUp>, session: Session) {
    await clock.advance(session.state.probeInMs ?? 0);
    session.probe();
    await clock.settle();
  }

  test("counts as refused after a second 401, five seconds after the first, and no sooner", async () => {
    const all = setUp();
    const session = await all.probed();
    all.answers["/auth"] = () => refusal(401, "bad key");
    await all.clock.advance(10 * minute);
    session.probe();
    await all.clock.settle();
    expect([session.state.health.kind, all.view().kind, session.state.probeInMs]).toEqual(["reachable", "open", 5000]);
    all.service.script = () => refusal(401, "bad key");
    await all.clock.advance(4999);
    expect((await session.client.listEndpoints("shop", session.signal)).kind).toBe("refusedOnce");
    expect(session.state.health.kind).toBe("reachable");
    await again(all, session);
    expect([session.state.health.kind, all.view().kind]).toEqual(["unauthorized", "closed"]);
  });

  test("does not count as refused where it is accepted in between, and is not probed for that any more", async () => {
    const all = setUp();
    const session = await all.probed();
    all.answers["/projects/shop/endpoints"] = () => refusal(401, "bad key");
    expect((await session.client.listEndpoints("shop", session.signal)).kind).toBe("refusedOnce");
    await all.clock.advance(1000);
    expect((await session.client.listEndpoints("other", session.signal)).kind).toBe("ok");
    expect(session.state.probeInMs).toBe(10 * minute - 1000);
    await all.clock.advance(6000);
    expect((await session.client.listEndpoints("shop", session.signal)).kind).toBe("refusedOnce");
    expect(session.state.health.kind).toBe("reachable");
  });

  test("a refused key is not probed without end where a probe fails otherwise", async () => {
    const all = setUp();
    const session = await all.probed();
    all.answers["/projects/shop/endpoints"] = () => refusal(401, "bad key");
    all.answers["/auth"] = () => refusal(404, "no such call");
    all.answers["/projects"] = () => refusal(400, "org_id is required");
    expect((await session.client.listEndpoints("shop", session.signal)).kind).toBe("refusedOnce");
    await again(all, session);
    expect([session.state.health.kind, session.state.probeInMs]).toEqual(["reachable", 10 * minute]);
  });

  test("a refused key is reported to all connections, and nothing more is sent with it", async () => {
    const { view, session, service, woken } = await refused();
    expect(view()).toMatchObject({
      kind: "closed",
      reason: "Unauthorized",
      message: expect.stringContaining("bad key"),
    });
    expect(woken).toContain("connection-1");
    const asked = service.requests.length;
    const { signal } = session;
    expect((await session.client.listEndpoints("shop", signal)).kind).toBe("unauthorized");
    expect((await session.client.deleteEndpoint("shop", "ep-one", signal)).kind).toBe("unauthorized");
    expect(service.requests).toHaveLength(asked);
  });

  test("a refused key is probed ever more slowly, from a minute up to ten", async () => {
    const { session, clock } = await refused();
    const waits = [];
    for (let n = 0; n < 6; n += 1) {
      const due = session.state.probeInMs ?? 0;
      waits.push(due / minute);
      await clock.advance(due);
      session.probe();
      await clock.settle();
    }
    expect(waits).toEqual([1, 2, 4, 8, 10, 10]);
  });

  test("lets nothing else out while the probe is on its way", async () => {
    const { session, clock, service, answers } = await refused();
    let answer = () => {};
    answers["/auth"] = () =>
      new Promise((resolve) => {
        answer = () => resolve(json(200, { account_id: "acc", auth_method: "api_key_user" }));
      });
    await clock.advance(minute);
    session.probe();
    await clock.settle();
    expect((await session.client.listEndpoints("shop", session.signal)).kind).toBe("unauthorized");
    expect(service.count("/endpoints")).toBe(0);
    answer();
    await clock.settle();
    expect((await session.client.listEndpoints("shop", session.signal)).kind).toBe("ok");
  });
});
