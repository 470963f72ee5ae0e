import { expect, test } from "vitest";
import { ApiKey } from "../../../src/operator/service-client/account.ts";
import { httpServiceTransport } from "../../../src/operator/service-client/http-transport.ts";
import type { ServiceRequest } from "../../../src/operator/service-client/transport.ts";
import { eventually } from "../../support/eventually.ts";
import { forever } from "../../support/request-budget.ts";
import { key } from "../../support/scripted-service.ts";
import { type HostileServer, json } from "../kube/hostile-server.ts";
import { type HostileService, useHostileService } from "./hostile-service.ts";

/** How the transport keeps its connections. */
let server: HostileServer;
let transport: HostileService["transport"];
let baseURL: string;

useHostileService(
  () => 0,
  (service) => {
    ({ server, transport, baseURL } = service);
  },
);

/** A connection is free for the next request a turn of the event loop after its answer. */
async function turns(): Promise<void> {
  for (let n = 0; n < 5; n += 1) await new Promise((resolve) => setImmediate(resolve));
}

async function send(more: Partial<ServiceRequest> = {}, through = transport) {
  const request = { method: "GET", baseURL, path: "/projects", key, ...more } as const;
  const answer = await through.send(request, { signal: forever, timeoutMs: 20_000 });
  await turns();
  return answer;
}

test("requests one after another share a connection", async () => {
  for (let n = 0; n < 3; n += 1) expect(await send()).toMatchObject({ status: 200 });
  expect(server.connections).toBe(1);
});

test("many requests at once share sixteen connections, and those that wait are sent in turn", async () => {
  const held: (() => void)[] = [];
  server.behaviour = (_, response) => held.push(() => json(response, 200, {}));
  const answers = Array.from({ length: 40 }, () => send());
  await eventually("sixteen requests", () => held.length === 16 || undefined);
  expect(server.connections).toBe(16);
  server.behaviour = (_, response) => json(response, 200, {});
  for (const release of held) release();
  for (const answer of await Promise.all(answers)) expect(answer).toMatchObject({ status: 200 });
  expect(server.connections).toBe(16);
});

test("a request of one key waits for none of another, however many those are", async () => {
  const held: (() => void)[] = [];
  server.behaviour = (_, response) => held.push(() => json(response, 200, {}));
  const others = Array.from({ length: 40 }, () => send());
  await eventually("sixteen requests", () => held.length === 16 || undefined);
  server.behaviour = (_, response) => json(response, 200, {});
  expect(await send({ key: new ApiKey("another") })).toMatchObject({ status: 200 });
  expect(held.length).toBe(16);
  for (const release of held) release();
  for (const answer of await Promise.all(others)) expect(answer).toMatchObject({ status: 200 });
});

test("the connections of the agent that was not used for longest are closed beyond the number kept, and opened again for it", async () => {
  const few = httpServiceTransport({ userAgent: "a-test", now: () => 0, mostAgents: 3 });
  const sendWith = (name: string) => send({ key: new ApiKey(name) }, few);
  for (const name of ["a", "b", "c", "a"]) await sendWith(name);
  expect([server.connections, server.open]).toEqual([3, 3]);
  await sendWith("d");
  await eventually("the connection of b to be closed", () => server.open === 3 || undefined);
  await sendWith("a");
  expect(server.connections).toBe(4);
  expect(await sendWith("b")).toMatchObject({ status: 200 });
  expect(server.connections).toBe(5);
  await few.close();
});

test("when it closes, what is under way is answered, and all connections are closed", async () => {
  const held = Promise.withResolvers<() => void>();
  server.behaviour = (_, response) => held.resolve(() => json(response, 200, {}));
  const closed = httpServiceTransport({ userAgent: "a-test", now: () => 0 });
  const answer = send({}, closed);
  const release = await held.promise;
  let isClosed = false;
  const close = async () => {
    await closed.close();
    isClosed = true;
  };
  const closing = close();
  await turns();
  expect(isClosed).toBe(false);
  release();
  expect(await answer).toMatchObject({ status: 200 });
  await closing;
  await eventually("the connection to be closed", () => server.open === 0 || undefined);
});
