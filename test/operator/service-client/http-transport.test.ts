import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { NoResponseError, type ServiceRequest } from "../../../src/operator/service-client/transport.ts";
import { realClock } from "../../support/real-clock.ts";
import { clientOf, key } from "../../support/scripted-service.ts";
import { HostileServer, json } from "../kube/hostile-server.ts";
import { type HostileService, useHostileService } from "./hostile-service.ts";

const secret = "a-key-of-a-test";
const limit = 20_000;
let server: HostileServer;
let transport: HostileService["transport"];
let baseURL: string;

useHostileService(
  () => Date.UTC(2026, 0, 1),
  (service) => {
    ({ server, transport, baseURL } = service);
  },
);

/** The deadline of requests that are to be answered: far beyond what a busy machine takes. */
const later = 30_000;

function send(
  method: ServiceRequest["method"],
  timeoutMs = later,
  more: Partial<ServiceRequest> = {},
  { signal } = new AbortController(),
) {
  const request = { method, baseURL, path: "/projects/p/endpoints", key, maxBytes: limit, ...more };
  return transport.send(request, { signal, timeoutMs });
}

async function failure(promise: Promise<unknown>): Promise<Error> {
  const outcome = await promise.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!(outcome instanceof NoResponseError)) throw new Error("it was answered");
  return outcome;
}

test("a request carries key, body and query as the service wants them", async () => {
  await send("POST", later, { body: { endpoint: {} }, query: { limit: "10", search: "a&b" } });
  expect(server.requests).toMatchObject([
    {
      method: "POST",
      url: "/api/v2/projects/p/endpoints?limit=10&search=a%26b",
      body: '{"endpoint":{}}',
      headers: {
        authorization: `Bearer ${secret}`,
        accept: "application/json",
        "content-type": "application/json",
        "user-agent": "a-test",
      },
    },
  ]);
});

test("a request without a body says nothing of its type", async () => {
  await send("DELETE");
  expect(server.requests[0]).toMatchObject({ method: "DELETE", body: "" });
  expect(server.requests[0]?.headers).not.toHaveProperty("content-type");
});

test("an answer with twenty kilobytes of headers is read", async () => {
  const headers = Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`x-${n}`, "x".repeat(1000)]));
  server.behaviour = (_, response) => json(response, 200, {}, headers);
  expect(await send("POST")).toMatchObject({ status: 200 });
});

test("a write is not kept waiting by lists that hang: one that never left would be taken for one that may have", async () => {
  server.behaviour = (request, response) => {
    if (request.method !== "GET") json(response, 201, { done: true });
  };
  const lists = Array.from({ length: 40 }, () => send("GET", 2 * later).catch(() => undefined));
  await expect.poll(() => server.requests.length).toBeGreaterThanOrEqual(16);
  expect(await send("POST", later, { body: {} })).toMatchObject({ status: 201 });
  await server.stop();
  await Promise.all(lists);
});

test.each(["GET", "POST"] as const)(
  "a redirect of a %s is an answer, and never followed: the key would go along",
  async (method) => {
    const thief = new HostileServer();
    const location = await thief.start();
    server.behaviour = (_, response) => response.writeHead(307, { location }).end();
    expect(await send(method)).toMatchObject({ status: 307, json: false });
    expect(thief.connections).toBe(0);
    await thief.stop();
  },
);

test("a body that is too large is not read to its end", async () => {
  server.behaviour = (_, response) => response.end(JSON.stringify("x".repeat(limit)));
  expect((await failure(send("POST"))).message).toContain("larger than");
});

test("a body that is too large is not asked for again", async () => {
  server.behaviour = (_, response) => response.end("x".repeat(limit + 1));
  expect((await failure(send("GET"))).message).toBe(`the answer is larger than ${limit} bytes`);
  expect(server.requests).toHaveLength(1);
});

test("a body that drips is cut off by the deadline", async () => {
  server.behaviour = (_, response) => {
    response.writeHead(200);
    const timer = setInterval(() => response.write(" "), 20);
    response.on("close", () => clearInterval(timer));
  };
  expect((await failure(send("GET", 200))).message).toBe("no answer in time");
});

test("a body that is cut off is no answer", async () => {
  server.behaviour = (_, response) => {
    response.writeHead(200, { "content-length": "100" });
    response.write('{"endpoints":[');
    response.socket?.destroy();
  };
  await failure(send("POST"));
  expect(server.requests).toHaveLength(1);
});

test.each(["<html>", "", '{"endpoints":['])("the body %j is not JSON", async (text) => {
  server.behaviour = (_, response) => response.end(text);
  const dateMs = expect.any(Number);
  const answer = { status: 200, json: false, body: undefined, text, bytes: text.length, dateMs };
  expect(await send("POST")).toEqual(answer);
});

describe("a write", () => {
  test.each(["POST", "PATCH", "DELETE"] as const)("%s is sent once, whatever becomes of it", async (method) => {
    server.behaviour = (request) => request.socket.destroy();
    await failure(send(method));
    server.behaviour = (_, response) => json(response, 503, {});
    expect(await send(method)).toMatchObject({ status: 503 });
    await pause(150);
    expect(server.requests).toHaveLength(2);
  });

  test("a write that reaches no server says why, and each word once", async () => {
    expect((await failure(send("POST", later, { baseURL: "http://127.0.0.1:1" }))).message).toBe(
      "connect ECONNREFUSED 127.0.0.1:1",
    );
  });

  test("a write that is never answered ends with its deadline", async () => {
    server.behaviour = () => {};
    const unanswered = failure(send("POST", 1000));
    await expect.poll(() => server.requests.length).toBe(1);
    expect((await unanswered).message).toBe("no answer in time");
    expect(server.requests).toHaveLength(1);
  });

  test("a write that waits for a connection ends with its deadline too, and is not sent later", async () => {
    server.behaviour = () => {};
    const caller = new AbortController();
    const hanging = Array.from({ length: 16 }, () => failure(send("POST", later, {}, caller)));
    await expect.poll(() => server.requests.length).toBe(16);
    expect((await failure(send("POST", 50))).message).toBe("no answer in time");
    caller.abort();
    for (const { message } of await Promise.all(hanging)) expect(message).toBe("aborted");
    server.behaviour = (_, response) => json(response, 200, {});
    await send("POST");
    expect(server.requests).toHaveLength(17);
  });
});

test.each([502, 503, 504])("a GET that meets %i is sent again", async (status) => {
  server.behaviour = (_, response) => json(response, server.requests.length < 3 ? status : 200, { endpoints: [] });
  expect(await send("GET")).toMatchObject({ status: 200 });
  expect(server.requests).toHaveLength(3);
});

test("a GET is sent again when its connection breaks", async () => {
  server.behaviour = (request, response) =>
    server.requests.length < 2 ? request.socket.destroy() : json(response, 200, {});
  expect(await send("GET")).toMatchObject({ status: 200 });
});

test("a GET that goes on failing comes to an end, with the last answer", async () => {
  server.behaviour = (_, response) => json(response, 503, { code: "", message: "no" });
  expect(await send("GET")).toMatchObject({ status: 503, body: { message: "no" } });
  expect(server.requests).toHaveLength(3);
});

test.each([
  { burst: 1, sent: 1 },
  { burst: 2, sent: 2 },
  { burst: 40, sent: 3 },
])(
  "a GET is sent again as often as a budget of $burst requests allows: $sent times in all",
  async ({ burst, sent }) => {
    server.behaviour = (_, response) => response.writeHead(503).end("<html>");
    const account = { baseURL, key };
    const client = clientOf(transport, realClock, { account, limits: { perMinute: 1, burst } });
    const answer = await client.listEndpoints("shop", new AbortController().signal);
    expect([answer.kind, server.requests.length]).toEqual(["unavailable", sent]);
  },
);

test.each([400, 401, 404, 429, 500])("a GET answered %i is not sent again", async (status) => {
  server.behaviour = (_, response) => json(response, status, {});
  expect(await send("GET")).toMatchObject({ status });
  expect(server.requests).toHaveLength(1);
});

test("a GET that was refused for a while and then got no answer fails", async () => {
  server.behaviour = (request, response) =>
    server.requests.length < 2 ? json(response, 503, {}) : request.socket.destroy();
  await failure(send("GET"));
  expect(server.requests).toHaveLength(3);
});

test("a GET that its caller calls off ends at once, and is not sent again", async () => {
  server.behaviour = () => {};
  const caller = new AbortController();
  const request = { method: "GET", baseURL, path: "/projects", key } as const;
  const asked = failure(transport.send(request, { signal: caller.signal, timeoutMs: 60_000 }));
  await expect.poll(() => server.requests.length).toBe(1);
  caller.abort();
  expect((await asked).message).toBe("aborted");
  expect(server.requests).toHaveLength(1);
});

test("a GET that its caller calls off before it is sent again takes nothing more from the budget", async () => {
  server.behaviour = (request) => request.socket.destroy();
  const caller = new AbortController();
  let asked = 0;
  const mayResend = () => {
    asked += 1;
    setImmediate(() => caller.abort());
    return true;
  };
  const request = { method: "GET", baseURL, path: "/projects", key } as const;
  await failure(transport.send(request, { signal: caller.signal, timeoutMs: 60_000, mayResend }));
  expect([asked, server.requests.length]).toEqual([1, 1]);
});

test("a GET with a Retry-After is not sent again before", async () => {
  server.behaviour = (_, response) => json(response, 503, {}, { "retry-after": "7" });
  expect(await send("GET")).toMatchObject({ status: 503, retryAfterMs: 7000 });
  expect(server.requests).toHaveLength(1);
});

test.each([
  ["7", 7000],
  ["0", 0],
  ["Thu, 01 Jan 2026 00:00:30 GMT", 30_000],
  ["999999999", 3_600_000],
  ["-1", undefined],
  ["soon", undefined],
])("Retry-After: %s is %s ms", async (header, ms) => {
  server.behaviour = (_, response) => json(response, 429, {}, { "retry-after": header });
  expect((await send("POST")).retryAfterMs).toBe(ms);
});

test("the key is in no error, whatever fails", async () => {
  const errors: Error[] = [];
  server.behaviour = (request) => request.socket.destroy();
  errors.push(await failure(send("POST")), await failure(send("GET")));
  for (const error of errors) expect(error.cause).toBeUndefined();
  server.behaviour = (_, response) => response.end("x".repeat(limit + 1));
  errors.push(await failure(send("POST")));
  await server.stop();
  errors.push(
    await failure(send("POST")),
    await failure(send("POST", 3000, { baseURL: "http://no-such-host.invalid" })),
  );
  errors.push(await failure(send("POST", later, { caBundle: "no certificate", baseURL: "https://127.0.0.1:1" })));
  for (const error of errors)
    expect(`${error.stack} ${JSON.stringify(error)} ${String(error.cause)}`).not.toContain(secret);
});

test("an answer of which nothing else is said may take four megabytes, and no more", async () => {
  const answerOf = (megabytes: number) => {
    server.behaviour = (_, response) => json(response, 200, { text: "x".repeat(megabytes * 1_000_000) });
    const request: ServiceRequest = { method: "GET", baseURL, path: "/projects", key };
    return transport.send(request, { signal: new AbortController().signal, timeoutMs: 30_000 });
  };
  expect(await answerOf(4)).toMatchObject({ status: 200, json: true });
  expect((await failure(answerOf(5))).message).toContain("larger than");
});
