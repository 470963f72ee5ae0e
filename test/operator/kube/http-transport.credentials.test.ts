import { afterEach, beforeEach, expect, test } from "vitest";
import { HttpTransport } from "../../../src/operator/kube/http-transport.ts";
import type { ClusterCredentials } from "../../../src/operator/kube/kubeconfig.ts";
import { realClock } from "../../support/real-clock.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";
import { HostileServer, json } from "./hostile-server.ts";

let server: HostileServer;
let transport: HttpTransport;
let url: string;
const forever = new AbortController().signal;

beforeEach(async () => {
  server = new HostileServer();
  url = await server.start();
});

afterEach(async () => {
  await transport.close();
  await server.stop();
});

function make(credentials: () => Promise<ClusterCredentials>, clock = realClock): HttpTransport {
  return new HttpTransport({ connection: { server: url, proxy: undefined, credentials }, clock, userAgent: "a-test" });
}

function get() {
  return transport.request({ method: "GET", path: "/api/v1/secrets" }, { signal: forever, timeoutMs: 2000 });
}

test("a request uses current credentials: they are read again after a 401, and connections are kept", async () => {
  let token = "token-0";
  const credentials = () => Promise.resolve({ headers: { Authorization: `Bearer ${token}` }, tls: {} });
  transport = make(credentials);
  server.behaviour = (request, response) =>
    json(response, request.headers.authorization === `Bearer ${token}` ? 200 : 401, {});
  expect((await get()).status).toBe(200);
  for (let n = 1; n <= 10; n += 1) {
    token = `token-${n}`;
    expect((await get()).status).toBe(401);
    expect((await get()).status).toBe(200);
  }
  expect(server.connections).toBeLessThanOrEqual(2);
});

test("a request without credentials says why, and the next one asks again", async () => {
  let broken = true;
  const credentials = async () => {
    if (broken) throw new Error("exec plugin: not logged in");
    return { headers: {}, tls: {} };
  };
  transport = make(credentials);
  await expect(get()).rejects.toThrow("GET /api/v1/secrets: exec plugin: not logged in");
  broken = false;
  expect((await get()).status).toBe(200);
});

test("a request is given up when its credentials never come, and later ones ask again: an exec plugin may hang once", async () => {
  let asked = 0;
  const credentials = async () => {
    asked += 1;
    if (asked === 1) await new Promise(() => {});
    return { headers: {}, tls: {} };
  };
  const clock = new VirtualClock();
  transport = make(credentials, clock);
  const failed = get().catch((error: unknown) => error);
  await clock.advance(2000);
  expect(await failed).toMatchObject({ message: "GET /api/v1/secrets: no answer within 2000 ms" });
  await clock.advance(10_000);
  expect((await get()).status).toBe(200);
});
