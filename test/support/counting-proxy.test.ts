import { createServer, type Server } from "node:http";
import { afterEach, beforeEach, expect, it } from "vitest";
import { CountingProxy } from "./counting-proxy.ts";
import { eventually } from "./eventually.ts";
import { freePort } from "./ports.ts";

let server: Server;
let proxy: CountingProxy;
beforeEach(async () => {
  const port = await freePort();
  server = createServer((request, response) => {
    request.setEncoding("utf8");
    let body = "";
    request.on("data", (text: string) => {
      body += text;
    });
    const { authorization = "", host = "" } = request.headers;
    request.on("end", () => response.writeHead(201, { "x-seen": authorization, "x-host": host }).end(body));
  });
  await new Promise<void>((resolve) => {
    server.listen(port, "127.0.0.1", resolve);
  });
  proxy = await CountingProxy.start({ baseURL: `http://127.0.0.1:${port}/api/v2` });
});
afterEach(async () => {
  await proxy[Symbol.asyncDispose]();
  server.closeAllConnections();
  server.close();
});

const post = (path: string) =>
  fetch(`${proxy.baseURL}${path}`, { method: "POST", body: "hello", headers: { authorization: "Bearer k" } });

it("passes a request and its answer on unchanged, and counts it", async () => {
  const response = await post("/projects?limit=1");
  expect([response.status, response.headers.get("x-seen"), await response.text()]).toEqual([201, "Bearer k", "hello"]);
  // The name that the client knows: a console tells by it whether a form is its own.
  expect(response.headers.get("x-host")).toBe(new URL(proxy.baseURL).host);
  expect(proxy.writes).toMatchObject([
    { method: "POST", path: "/api/v2/projects?limit=1", body: "hello", status: 201 },
  ]);
  expect(proxy.reads).toEqual([]);
});

it("answers in place of the service on request", async () => {
  proxy.instead = ({ path }) => (path.endsWith("/html") ? { status: 502, body: "<h1>Bad gateway</h1>" } : undefined);
  expect(await (await post("/html")).text()).toBe("<h1>Bad gateway</h1>");
  expect((await post("/projects")).status).toBe(201);
});

it("delays a request on request, and forwards it even if the client is gone", async () => {
  proxy.holdMs = ({ path }) => (path.endsWith("/held") ? 200 : 0);
  const client = new AbortController();
  proxy.onRequest(({ path }) => path.endsWith("/held") && client.abort(new Error("gone")));
  await expect(fetch(`${proxy.baseURL}/held`, { signal: client.signal })).rejects.toThrow("gone");
  expect((await post("/projects")).status).toBe(201);
  await eventually("the held request to arrive", () => proxy.requests[0]?.status);
  expect(proxy.requests).toMatchObject([{ status: 201 }, { status: 201, answeredAt: expect.any(Number) }]);
  expect(proxy.requests[0]).not.toHaveProperty("answeredAt");
});

it("drops the connection on request, and if the service is gone", async () => {
  proxy.instead = () => "drop";
  await expect(post("/projects")).rejects.toThrow("fetch failed");
  proxy.instead = undefined;
  server.closeAllConnections();
  server.close();
  await expect(post("/projects")).rejects.toThrow("fetch failed");
  expect(proxy.requests.map(({ status }) => status)).toEqual([undefined, undefined]);
});
