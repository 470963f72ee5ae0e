import { describe, expect, test } from "vitest";
import { RequestBudget } from "../../../src/operator/service-client/budget.ts";
import type { ServiceClientOptions } from "../../../src/operator/service-client/client.ts";
import { endpoint } from "../../support/builders.ts";
import { forever } from "../../support/request-budget.ts";
import { clientOf, json, ScriptedService } from "../../support/scripted-service.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";

/** A client with a budget of one request a second, and none left. */
function setUp() {
  const clock = new VirtualClock();
  const budget = new RequestBudget(clock, { perMinute: 60, burst: 1 });
  budget.takeSpare();
  const service = new ScriptedService(() => json(200, { endpoint: endpoint(), endpoints: [] }));
  const retired = new AbortController();
  const client = clientOf(service, clock, { budget, retired: retired.signal });
  return { clock, budget, service, retired, client };
}

describe("a request that waits for the budget", () => {
  test("goes out in the order of urgency: a write before a read that asked first", async () => {
    const { clock, service, client } = setUp();
    void client.getEndpoint("shop", "ep-one", forever);
    void client.deleteEndpoint("shop", "ep-one", forever);
    await clock.advance(2000);
    expect(service.requests.map(({ method }) => method)).toEqual(["DELETE", "GET"]);
  });

  test.each([
    ["is going", false],
    ["was changed meanwhile", true],
  ])("ends with its caller, and takes nothing from the budget, while the connection %s", async (_, isRetired) => {
    const { clock, budget, service, retired, client } = setUp();
    const caller = new AbortController();
    const asked = client.patchEndpoint("shop", "ep-one", { endpoint: {} }, caller.signal);
    caller.abort(new Error("the caller ends"));
    if (isRetired) retired.abort();
    await expect(asked).rejects.toThrow("the caller ends");
    await clock.advance(1000);
    expect([service.requests, budget.available]).toEqual([[], 1]);
  });
});

test("a write that is no longer wanted is not sent, and fails as superseded; a read is sent", async () => {
  const { clock, service, client } = setUp();
  let isWithdrawn = false;
  const reservation = client.reservation("one", () => {});
  const within = client.within(reservation, { withdrawn: () => isWithdrawn });
  const kinds: string[] = [];
  void within.createEndpoint("shop", { endpoint: {} }, forever).then(({ kind }) => kinds.push(kind));
  isWithdrawn = true;
  await clock.advance(1000);
  expect([kinds, service.asked]).toEqual([["superseded"], []]);
  void within.listEndpoints("shop", forever).then(({ kind }) => kinds.push(kind));
  await clock.advance(1000);
  expect([kinds, service.asked]).toEqual([["superseded", "ok"], ["GET /projects/shop/endpoints"]]);
});

describe("a request that was admitted and is not sent gives back what it took from the budget", () => {
  const setUpFull = (options: Partial<ServiceClientOptions>) => {
    const clock = new VirtualClock();
    const budget = new RequestBudget(clock, { perMinute: 1, burst: 3 });
    const service = new ScriptedService(() => json(200, { endpoint: endpoint(), endpoints: [] }));
    return { budget, service, client: clientOf(service, clock, { budget, ...options }) };
  };
  test.each<[string, Partial<ServiceClientOptions>]>([
    ["because its plan is outdated", { withdrawn: () => true }],
    ["because the key is refused", { circuitOpen: () => ({ kind: "unauthorized", message: "no" }) }],
    [
      "because this process no longer leads",
      {
        beforeWrite: () => {
          throw new Error("not the leader");
        },
      },
    ],
  ])("%s", async (_, options) => {
    const { budget, service, client } = setUpFull(options);
    for (let n = 0; n < 3; n += 1) {
      await client.patchEndpoint("shop", "ep-one", { endpoint: {} }, forever).catch(() => {});
    }
    expect([service.asked, budget.available]).toEqual([[], 3]);
  });

  test("because the connection was changed after it was let in", async () => {
    const retired = new AbortController();
    const { budget, service, client } = setUpFull({ retired: retired.signal });
    const asked = client.patchEndpoint("shop", "ep-one", { endpoint: {} }, forever);
    retired.abort(new Error("the connection is no longer used"));
    expect((await asked).kind).toBe("superseded");
    expect([service.asked, budget.available]).toEqual([[], 3]);
  });

  test("because its caller ended after it was let in", async () => {
    const { budget, service, client } = setUpFull({});
    const caller = new AbortController();
    const asked = client.listEndpoints("shop", caller.signal);
    caller.abort(new Error("the caller ends"));
    await expect(asked).rejects.toThrow("the caller ends");
    expect([service.asked, budget.available]).toEqual([[], 3]);
  });

  test("as the first of a reservation, too: its next request takes another", async () => {
    let isWithdrawn = true;
    const { budget, service, client } = setUpFull({ withdrawn: () => isWithdrawn });
    const reservation = client.reservation("one", () => {});
    const within = client.within(reservation, { withdrawn: () => isWithdrawn });
    expect(reservation.tryTake("write")).toBe(true);
    await within.deleteEndpoint("shop", "ep-one", forever);
    reservation.end();
    expect(budget.available).toBe(3);
    isWithdrawn = false;
    await within.deleteEndpoint("shop", "ep-one", forever);
    expect([service.asked, budget.available]).toEqual([["DELETE /projects/shop/endpoints/ep-one"], 2]);
  });
});

test("what counts a write as sent is asked last, after all that may still stop it", async () => {
  const clock = new VirtualClock();
  const asked: string[] = [];
  const note = (what: string) => () => {
    asked.push(what);
  };
  const noteKey = () => {
    asked.push("key");
    return undefined;
  };
  const service = new ScriptedService(() => json(200, { endpoint: endpoint() }));
  const client = clientOf(service, clock, { circuitOpen: noteKey, beforeWrite: note("lease") });
  const within = client.within(
    client.reservation("one", () => {}),
    {
      withdrawn: () => {
        note("sends")();
        return false;
      },
    },
  );
  await within.deleteEndpoint("shop", "ep-one", forever);
  expect(asked).toEqual(["key", "lease", "sends"]);
});
