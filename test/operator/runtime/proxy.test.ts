import { describe, expect, test } from "vitest";
import { proxyFor } from "../../../src/operator/runtime/proxy.ts";

const proxy = "http://proxy:3128";
const through = (server: string, env: Readonly<Record<string, string>>) => proxyFor(server, undefined, env);

test.each([
  ["https://service", { HTTPS_PROXY: proxy }, proxy],
  ["https://service", { HTTP_PROXY: proxy }, undefined],
  ["http://service", { HTTP_PROXY: proxy }, proxy],
  ["http://service", { HTTPS_PROXY: proxy }, undefined],
  ["https://service", { HTTPS_PROXY: ` ${proxy} ` }, proxy],
  ["https://service", { HTTPS_PROXY: " ", https_proxy: proxy }, undefined],
  ["https://service", {}, undefined],
])("the proxy for %s, of %j, is %s", (server, env, expected) => {
  expect(through(server, env)).toBe(expected);
});

describe("NO_PROXY", () => {
  const v4 = "https://10.96.0.1:6443";
  const v6 = "https://[fd00:10:96::1]:6443";
  test.each([
    [v4, "10.96.0.1"],
    [v4, "10.96.0.1:6443"],
    [v4, "example.com,  10.96.0.1"],
    [v4, "10.96.0.0/16"],
    [v4, "10.96.0.1/32"],
    [v4, "0.0.0.0/0"],
    [v4, "*"],
    [v6, "fd00:10:96::1"],
    [v6, "fd00:10:96:0:0:0:0:1"],
    [v6, "[fd00:10:96::1]:6443"],
    [v6, "FD00:10:96::/64"],
    [v6, "fd00:10:96::1/128"],
    ["https://[fd00::1:80]", "fd00::1:80"],
    ["https://api.example.com", "example.com"],
    ["https://api.example.com", ".example.com"],
    ["https://api.example.com", "*.Example.com:443"],
    ["https://EXAMPLE.com", "example.COM"],
  ])("excepts %s where it is %j", (server, excepted) => {
    expect(through(server, { HTTPS_PROXY: proxy, NO_PROXY: excepted })).toBeUndefined();
  });

  test.each([
    [v4, "10.96.0.2"],
    [v4, "10.97.0.0/16"],
    [v4, "fd00::/8"],
    [v4, "::/0"],
    [v6, "10.0.0.0/8"],
    [v6, "fd00:10:97::/64"],
    ["https://example.com", "api.example.com"],
    ["https://badexample.com", "example.com"],
    ["https://example.com.evil.org", "example.com"],
    ["https://service", ""],
    ["https://service.", "example.com, "],
  ])("does not except %s where it is %j", (server, excepted) => {
    expect(through(server, { HTTPS_PROXY: proxy, NO_PROXY: excepted })).toBe(proxy);
  });

  test.each(["10.96.0.1/33", "10.96.0.1/", "10.96.0.1/x", "10.96.0.1/-1", "service/8", "/8", "fd00:10:96::1/129"])(
    "does not stop at a range that is none, and excepts nothing by it: %s",
    (excepted) => {
      for (const server of [v4, v6, "https://service"]) {
        expect(through(server, { HTTPS_PROXY: proxy, NO_PROXY: excepted })).toBe(proxy);
      }
    },
  );
});
