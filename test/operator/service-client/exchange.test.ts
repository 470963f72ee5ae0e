import { describe, expect, test } from "vitest";
import { deadlines } from "../../../src/operator/service-client/exchange.ts";
import { mostBytes, NoResponseError, type ServiceResponse } from "../../../src/operator/service-client/transport.ts";
import { endpoint } from "../../support/builders.ts";
import { forever } from "../../support/request-budget.ts";
import { clientOf, json, key, ScriptedService } from "../../support/scripted-service.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";

type Client = ReturnType<typeof clientOf>;

const calls = {
  list: (client: Client) => client.listEndpoints("shop", forever),
  read: (client: Client) => client.getEndpoint("shop", "ep-one", forever),
  create: (client: Client) => client.createEndpoint("shop", { endpoint: { type: "read_only" } }, forever),
  delete: (client: Client) => client.deleteEndpoint("shop", "ep-one", forever),
};

const answer = () => json(200, { endpoint: endpoint(), endpoints: [] });

test.each([
  ["list", { timeoutMs: deadlines.read, maxBytes: mostBytes.endpoints }],
  ["read", { timeoutMs: deadlines.read, maxBytes: mostBytes.other }],
  ["create", { timeoutMs: deadlines.write, maxBytes: mostBytes.other }],
  ["delete", { timeoutMs: deadlines.write, maxBytes: mostBytes.other }],
] as const)("a request to %s has its own deadline and largest answer", async (name, bounds) => {
  const sent: unknown[] = [];
  const transport = {
    send: (request: { maxBytes?: number }, { timeoutMs }: { timeoutMs: number }) => {
      sent.push({ timeoutMs, maxBytes: request.maxBytes });
      return Promise.resolve(answer());
    },
  };
  await calls[name](clientOf(transport, new VirtualClock()));
  expect(sent).toEqual([bounds]);
});

test("a request carries what the call is about, and the authority that the connection trusts", async () => {
  const service = new ScriptedService(answer);
  const account = { baseURL: "https://private/api/v2", key, caBundle: "PEM" };
  const client = clientOf(service, new VirtualClock(), { account });
  await calls.create(client);
  await client.listOperations("shop", forever);
  const common = { baseURL: "https://private/api/v2", key, caBundle: "PEM", maxBytes: mostBytes.other };
  expect(service.requests).toEqual([
    { ...common, method: "POST", path: "/projects/shop/endpoints", body: { endpoint: { type: "read_only" } } },
    { ...common, method: "GET", path: "/projects/shop/operations", query: { limit: "100" } },
  ]);
});

test("a request is reported with the seconds that it took", async () => {
  const clock = new VirtualClock();
  await clock.advance(10_000);
  const seconds: number[] = [];
  const slow = async (): Promise<ServiceResponse> => {
    await new Promise<void>((resolve) => void clock.after(250, resolve));
    if (seconds.length > 0) throw new NoResponseError("ECONNRESET");
    return answer();
  };
  const client = clientOf(new ScriptedService(slow), clock, { observe: (sent) => seconds.push(sent.seconds) });
  for (let n = 0; n < 2; n += 1) {
    void calls.read(client);
    await clock.advance(250);
  }
  expect(seconds).toEqual([0.25, 0.25]);
});

describe("a worker that waits for an answer", () => {
  test.each([
    ["answered", () => answer(), undefined],
    ["not answered", () => Promise.reject(new NoResponseError("ECONNRESET")), undefined],
    ["not sent", () => answer(), "no longer the leader"],
  ])("counts as blocked until the request is %s", async (_, reply, obstacle) => {
    const clock = new VirtualClock();
    const gate = Promise.withResolvers<void>();
    const service = new ScriptedService(async () => {
      await gate.promise;
      return reply();
    });
    let blocked = 0;
    const client = clientOf(service, clock, {
      changeBlockedWorkers: (more) => {
        blocked += more;
      },
      beforeWrite: () => {
        if (obstacle !== undefined) throw new Error(obstacle);
      },
    });
    const asked = calls.create(client).catch((error: unknown) => error);
    await clock.settle();
    expect(blocked).toBe(obstacle === undefined ? 1 : 0);
    gate.resolve();
    await asked;
    expect(blocked).toBe(0);
  });
});

test("the largest answers hold the largest fleets, and two lists at once fit the memory of a small pod", () => {
  expect(mostBytes.endpoints).toBeGreaterThanOrEqual(2 * 7_000_000);
  expect(mostBytes.endpoints).toBeLessThanOrEqual(20_000_000);
  expect(mostBytes.other).toBeGreaterThanOrEqual(8 * 500_000);
  expect(mostBytes.other).toBeLessThanOrEqual(mostBytes.endpoints);
});
