import { getEventListeners } from "node:events";
import { afterEach, beforeEach, expect, test } from "vitest";
import { HttpTransport } from "../../../src/operator/kube/http-transport.ts";
import { realClock } from "../../support/real-clock.ts";
import { type Behaviour, HostileServer, json, statusBody } from "./hostile-server.ts";

let server: HostileServer;
let transport: HttpTransport;
beforeEach(async () => {
  server = new HostileServer();
  const connection = {
    server: await server.start(),
    proxy: undefined,
    credentials: () => Promise.resolve({ headers: {}, tls: {} }),
  };
  transport = new HttpTransport({ connection, clock: realClock, userAgent: "compute-operator/test" });
});
afterEach(async () => {
  await transport.close();
  await server.stop();
});

const line = `${JSON.stringify({ type: "ADDED", object: { metadata: { name: "a" } } })}\n`;
const path = "/api/v1/secrets";

test.each<[string, Behaviour, number]>([
  ["is answered", (_, response) => json(response, 200, {}), 30_000],
  ["is refused", (_, response) => json(response, 500, statusBody(500, "InternalError")), 30_000],
  ["is cut off", (_, response) => response.destroy(), 30_000],
  ["gets no answer in time", () => {}, 20],
])(
  "a request that %s leaves nothing at the signal of its caller, which lives as long as the process",
  async (_, behaviour, timeoutMs) => {
    const { signal } = new AbortController();
    server.behaviour = behaviour;
    await transport.request({ method: "GET", path }, { signal, timeoutMs }).catch(() => {});
    expect(getEventListeners(signal, "abort")).toEqual([]);
  },
);

test.each<[string, Behaviour]>([
  ["ends", (_, response) => response.writeHead(200).end(line)],
  ["is refused", (_, response) => json(response, 410, statusBody(410, "Expired"))],
  ["is cut off", (_, response) => response.writeHead(200).write(line, () => response.destroy())],
])("a watch that %s leaves nothing at the signal of its caller", async (_, behaviour) => {
  const { signal } = new AbortController();
  server.behaviour = behaviour;
  const lines = transport.watch({ path, query: { watch: "true" } }, { signal, idleTimeoutMs: 30_000 });
  const end = async (): Promise<void> => ((await lines.next()).done === true ? undefined : end());
  await end().catch(() => {});
  expect(getEventListeners(signal, "abort")).toEqual([]);
});

test("a watch whose reader stops leaves nothing at the signal of its caller", async () => {
  const { signal } = new AbortController();
  server.behaviour = (_, response) => response.writeHead(200).write(line);
  for await (const one of transport.watch({ path, query: {} }, { signal, idleTimeoutMs: 30_000 })) {
    expect(one.type).toBe("ADDED");
    break;
  }
  expect(getEventListeners(signal, "abort")).toEqual([]);
  await expect.poll(() => server.open).toBe(0);
});
