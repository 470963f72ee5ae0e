import { describe, expect, test } from "vitest";
import { RequestBudget } from "../../../src/operator/service-client/budget.ts";
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
