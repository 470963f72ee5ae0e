import { afterEach, beforeEach, expect, test } from "vitest";
import { ClusterError, ClusterUnreachable, isGone } from "../../../src/operator/kube/errors.ts";
import { HttpTransport, type HttpTransportOptions } from "../../../src/operator/kube/http-transport.ts";
import type { WatchLine } from "../../../src/operator/kube/transport.ts";
import { freePort } from "../../support/ports.ts";
import { realClock } from "../../support/real-clock.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";
import { HostileServer, json, statusBody } from "./hostile-server.ts";

let server: HostileServer;
let transport: HttpTransport;
let url: string;
const forever = new AbortController().signal;

function testCredentials() {
  return Promise.resolve({ headers: { Authorization: "Bearer test-token" }, tls: {} });
}

function make(options: Partial<HttpTransportOptions> = {}): HttpTransport {
  const connection = { server: url, proxy: undefined, credentials: testCredentials };
  return new HttpTransport({ connection, clock: realClock, userAgent: "compute-operator/test", ...options });
}

beforeEach(async () => {
  server = new HostileServer();
  url = await server.start();
  transport = make();
});

afterEach(async () => {
  await transport.close();
  await server.stop();
});

test("a proxy that cannot be reached is named, without its password", async () => {
  const gone = await freePort();
  const connection = { server: url, proxy: `http://me:word@127.0.0.1:${gone}`, credentials: testCredentials };
  await transport.close();
  transport = make({ connection });
  const failed = get();
  await expect(failed).rejects.toThrow(new RegExp(`ECONNREFUSED.* \\(through the proxy http://127.0.0.1:${gone}\\)$`));
  await expect(failed).rejects.not.toThrow(/word/);
});

function get(options: { timeoutMs?: number; signal?: AbortSignal } = {}) {
  return transport.request(
    { method: "GET", path: "/api/v1/secrets", query: { limit: "5" } },
    { signal: forever, timeoutMs: 30_000, ...options },
  );
}

async function failureOf(promise: Promise<unknown>): Promise<Error> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof Error) return error;
  }
  throw new Error("expected it to fail");
}

async function watch(options: { idleTimeoutMs?: number; signal?: AbortSignal } = {}) {
  const lines: WatchLine[] = [];
  let error: unknown;
  try {
    const request = { path: "/api/v1/secrets", query: { watch: "true" } };
    for await (const line of transport.watch(request, { signal: forever, idleTimeoutMs: 30_000, ...options })) {
      lines.push(line);
    }
  } catch (caught) {
    error = caught;
  }
  return { lines, error };
}

const added = `${JSON.stringify({ type: "ADDED", object: { metadata: { name: "ü" } } })}\n`;

test("a request carries credentials, query and body as the API server wants them", async () => {
  await transport.request(
    { method: "PATCH", path: "/api/v1/x", body: [{ op: "test" }], contentType: "application/json-patch+json" },
    { signal: forever, timeoutMs: 30_000 },
  );
  await get();
  expect(server.requests[0]).toMatchObject({ method: "PATCH", url: "/api/v1/x", body: '[{"op":"test"}]' });
  expect(server.requests[0]?.headers).toMatchObject({
    authorization: "Bearer test-token",
    "content-type": "application/json-patch+json",
    "user-agent": "compute-operator/test",
  });
  expect(server.requests[1]).toMatchObject({ method: "GET", url: "/api/v1/secrets?limit=5", body: "" });
});

test("three hundred requests at once share as many connections as there are workers", async () => {
  await Promise.all(Array.from({ length: 300 }, () => get()));
  expect(server.requests).toHaveLength(300);
  expect(server.connections).toBeLessThanOrEqual(16);
});

test("a request is not kept waiting by watches that are open", async () => {
  server.behaviour = (request, response) => {
    if (request.url?.includes("watch")) response.writeHead(200).write(added);
    else json(response, 200, { ok: true });
  };
  const stop = new AbortController();
  const watches = Array.from({ length: 20 }, () => watch({ signal: stop.signal, idleTimeoutMs: 60_000 }));
  await expect.poll(() => server.requests.length).toBe(20);
  expect(await get()).toEqual({ status: 200, body: { ok: true } });
  stop.abort();
  await Promise.all(watches);
  await expect.poll(() => server.open).toBeLessThanOrEqual(1);
});

test("a request on a lease is not kept waiting by others that hang: leadership would be lost for their sake", async () => {
  server.behaviour = (request, response) => {
    if (request.url?.includes("leases")) json(response, 200, { ok: true });
  };
  const stop = new AbortController();
  const hanging = Array.from({ length: 20 }, () => get({ timeoutMs: 60_000, signal: stop.signal }).catch(() => {}));
  await expect.poll(() => server.requests.length).toBe(16);
  const path = "/apis/coordination.k8s.io/v1/namespaces/default/leases/operator";
  const renewal = transport.request({ method: "PATCH", path, body: [] }, { signal: forever, timeoutMs: 30_000 });
  expect(await renewal).toEqual({ status: 200, body: { ok: true } });
  stop.abort();
  await Promise.all(hanging);
});

test("a transport that is closed leaves no connection open, that of the lease included", async () => {
  await transport.request(
    { method: "GET", path: "/apis/coordination.k8s.io/v1/namespaces/default/leases/operator" },
    { signal: forever, timeoutMs: 30_000 },
  );
  expect(server.open).toBe(1);
  await transport.close();
  await expect.poll(() => server.open).toBe(0);
});

test.each([
  [410, "Expired"],
  [500, "InternalError"],
  [404, "NotFound"],
  [409, "Conflict"],
])("a request answered %i %s resolves with that answer", async (status, reason) => {
  server.behaviour = (_request, response) => json(response, status, statusBody(status, reason));
  expect(await get()).toMatchObject({ status, body: { reason } });
});

test("a request answered 429 tells after how long to come back", async () => {
  server.behaviour = (_request, response) => json(response, 429, {}, { "retry-after": "7" });
  expect(await get()).toEqual({ status: 429, body: {}, retryAfterMs: 7000 });
});

test("a request answered with a page of a proxy keeps its status and loses the page", async () => {
  server.behaviour = (_request, response) => response.writeHead(502).end("<html>Bad gateway</html>");
  expect(await get()).toEqual({ status: 502, body: undefined });
});

test("a request answered 200 with a page has no answer of the API server", async () => {
  server.behaviour = (_request, response) => response.writeHead(200).end("<html>Welcome</html>");
  const failure = await failureOf(get());
  expect(failure).toBeInstanceOf(ClusterUnreachable);
  expect(failure.message).toBe("GET /api/v1/secrets: status 200, and a body that is not JSON");
});

test("a request is not redirected: what would be sent elsewhere is the token", async () => {
  const elsewhere = new HostileServer();
  const target = await elsewhere.start();
  server.behaviour = (_request, response) => response.writeHead(302, { location: target }).end();
  expect(await get()).toEqual({ status: 302, body: undefined });
  expect(elsewhere.connections).toBe(0);
  await elsewhere.stop();
});

test("a request on a connection that is reset is unreachable, and the next one goes through", async () => {
  server.behaviour = (request) => request.socket.resetAndDestroy();
  expect(await failureOf(get())).toBeInstanceOf(ClusterUnreachable);
  server.behaviour = (_request, response) => json(response, 200, {});
  expect(await get()).toEqual({ status: 200, body: {} });
});

test("a request with an answer that is cut off is unreachable", async () => {
  server.behaviour = (request, response) => {
    response.writeHead(200, { "content-length": "1000" }).write('{"items":[');
    setImmediate(() => request.socket.destroy());
  };
  expect(await failureOf(get())).toBeInstanceOf(ClusterUnreachable);
});

test("a request without an answer is given up at its deadline", async () => {
  server.behaviour = () => {};
  const failure = await failureOf(get({ timeoutMs: 60 }));
  expect(failure.message).toBe("GET /api/v1/secrets: no answer within 60 ms");
});

test("a request that waits for a connection is given up at its deadline too, and not sent later", async () => {
  server.behaviour = () => {};
  const stop = new AbortController();
  const hanging = Array.from({ length: 16 }, () => get({ timeoutMs: 60_000, signal: stop.signal }).catch(() => {}));
  await expect.poll(() => server.requests.length).toBe(16);
  const failure = await failureOf(get({ timeoutMs: 60 }));
  expect(failure.message).toBe("GET /api/v1/secrets: no answer within 60 ms");
  stop.abort();
  await Promise.all(hanging);
  server.behaviour = (_request, response) => json(response, 200, { ok: true });
  await get();
  expect(server.requests).toHaveLength(17);
});

test("a request with an answer that drips in is given up at its deadline too", async () => {
  server.behaviour = (_request, response) => {
    response.writeHead(200);
    const drip = setInterval(() => response.write(" "), 5);
    response.on("close", () => clearInterval(drip));
  };
  const failure = await failureOf(get({ timeoutMs: 80 }));
  expect(failure).toBeInstanceOf(ClusterUnreachable);
  await expect.poll(() => server.open).toBe(0);
});

test("a request with a huge answer is given up at the bound", async () => {
  transport = make({ maxBodyBytes: 1000 });
  server.behaviour = (_request, response) => json(response, 200, { text: "x".repeat(2000) });
  const failure = await failureOf(get());
  expect(failure.message).toBe("GET /api/v1/secrets: the answer is larger than 1000 bytes");
});

test("a request is ended by its signal", async () => {
  server.behaviour = () => {};
  const stop = new AbortController();
  const request = failureOf(get({ signal: stop.signal }));
  stop.abort(new Error("shutting down"));
  expect((await request).message).toBe("GET /api/v1/secrets: shutting down");
});

test("a request that failed at each address of the host says with which code, since Node says nothing more", async () => {
  const nobodyThere = Object.assign(new AggregateError([]), { code: "ECONNREFUSED" });
  transport = make({ connection: { server: url, proxy: undefined, credentials: () => Promise.reject(nobodyThere) } });
  expect((await failureOf(get())).message).toBe("GET /api/v1/secrets: ECONNREFUSED");
});

test("a watch yields each line as it comes, however it is cut into pieces, and ends when the server closes it", async () => {
  const bytes = Buffer.from(added.repeat(3));
  server.behaviour = (_request, response) => {
    response.writeHead(200);
    let at = 0;
    const step = () => {
      if (at >= bytes.length) response.end();
      else response.write(bytes.subarray(at, (at += 7)), () => setImmediate(step));
    };
    step();
  };
  const { lines, error } = await watch();
  expect(error).toBeUndefined();
  expect(lines).toEqual(Array.from({ length: 3 }, () => ({ type: "ADDED", object: { metadata: { name: "ü" } } })));
});

test("a watch cut off between two lines throws after those that came", async () => {
  server.behaviour = (request, response) => {
    response.writeHead(200).write(added, () => setImmediate(() => request.socket.destroy()));
  };
  const { lines, error } = await watch();
  expect(lines).toHaveLength(1);
  expect(error).toBeInstanceOf(ClusterUnreachable);
});

test("a watch that ends in order but within a line throws", async () => {
  server.behaviour = (_request, response) => response.writeHead(200).end(added + added.slice(0, 10));
  const { lines, error } = await watch();
  expect(lines).toHaveLength(1);
  expect(error).toMatchObject({ message: "watch /api/v1/secrets: cut off in the middle of a line" });
});

test("a watch that says nothing is given up at its idle deadline", async () => {
  server.behaviour = (_request, response) => response.writeHead(200).write(added);
  const clock = new VirtualClock();
  await transport.close();
  transport = make({ clock });
  const lines = transport.watch({ path: "/api/v1/secrets", query: {} }, { signal: forever, idleTimeoutMs: 60_000 });
  expect((await lines.next()).value).toMatchObject({ type: "ADDED" });
  const end = failureOf(lines.next());
  await clock.advance(59_999);
  expect(await Promise.race([end, Promise.resolve("still open")])).toBe("still open");
  await clock.advance(1);
  expect(await end).toMatchObject({ message: "watch /api/v1/secrets: nothing came for 60000 ms" });
});

test("a watch that drips without ever finishing a line is given up at its idle deadline", async () => {
  server.behaviour = (_request, response) => {
    response.writeHead(200);
    const drip = setInterval(() => response.write("x"), 5);
    response.on("close", () => clearInterval(drip));
  };
  const { error } = await watch({ idleTimeoutMs: 80 });
  expect(error).toMatchObject({ message: "watch /api/v1/secrets: nothing came for 80 ms" });
});

test("a watch refused with 410 throws an error that says that the history is gone", async () => {
  server.behaviour = (_request, response) => json(response, 410, statusBody(410, "Expired"));
  const { error } = await watch();
  expect(error).toBeInstanceOf(ClusterError);
  expect(isGone(error)).toBe(true);
});

test.each([
  ["header", { "retry-after": "7" }, {}],
  ["Status", {}, { details: { retryAfterSeconds: 7 } }],
])("a watch refused with 429 throws an error with what its %s says of when to come back", async (_, headers, more) => {
  const body = { ...statusBody(429, "TooManyRequests"), ...more };
  server.behaviour = (_request, response) => json(response, 429, body, headers);
  expect((await watch()).error).toMatchObject({ status: 429, retryAfterMs: 7000 });
});

test("a watch passes ERROR lines on", async () => {
  const line = { type: "ERROR", object: statusBody(410, "Expired") };
  server.behaviour = (_request, response) => response.writeHead(200).end(`${JSON.stringify(line)}\n`);
  expect(await watch()).toEqual({ lines: [line], error: undefined });
});

test("a watch closes its connection when its reader leaves", async () => {
  server.behaviour = (_request, response) => response.writeHead(200).write(added);
  const request = { path: "/api/v1/secrets", query: {} };
  for await (const line of transport.watch(request, { signal: forever, idleTimeoutMs: 60_000 })) {
    expect(line.type).toBe("ADDED");
    break;
  }
  await expect.poll(() => server.open).toBe(0);
});
