import { describe, expect, test } from "vitest";
import { isAllowedBaseURL, normalisedBaseURL, resolve } from "../../../src/operator/connection/read-account.ts";
import { newAuthority } from "../../support/authority.ts";
import { apiKeySecret, connection } from "../../support/connections.ts";

const { certificate: pem } = await newAuthority();
const allowed = ["https://service.example.com/api/v2"];

describe("a base URL has one spelling", () => {
  test.each([
    ["https://Service.Example.COM/api/v2", "https://service.example.com/api/v2"],
    ["https://service.example.com:443/api/v2", "https://service.example.com/api/v2"],
    ["http://service.example.com:80/api/v2/", "http://service.example.com/api/v2"],
    ["https://service.example.com//api///v2//", "https://service.example.com/api/v2"],
    ["https://service.example.com/x/../api/v2", "https://service.example.com/api/v2"],
    ["http://127.1:8090/api/v2", "http://127.0.0.1:8090/api/v2"],
    ["http://[::1]:8090/api/v2", "http://[::1]:8090/api/v2"],
  ])("%s", (text, normal) => {
    expect(normalisedBaseURL(text)).toBe(normal);
  });

  test.each([
    "service.example.com/api/v2",
    "ftp://service.example.com/api/v2",
    "file:///api/v2",
    "https://user@service.example.com/api/v2",
    "https://:secret@service.example.com/api/v2",
    "https://service.example.com/api/v2?x=1",
    "https://service.example.com/api/v2#x",
    "",
  ])("a base URL of %j is invalid", (text) => {
    expect(normalisedBaseURL(text)).toBeUndefined();
  });
});

describe("a pattern of allowed base URLs", () => {
  test.each([
    ["https://service.example.com/api/v2", "https://service.example.com/api/v2", true],
    ["https://service.example.com/api/v2/", "https://service.example.com/api/v2", true],
    ["https://*.example.com/api/v2", "https://a.b.example.com/api/v2", true],
    ["http://127.0.0.1:*/api/v2", "http://127.0.0.1:8090/api/v2", true],
    ["https://*.example.com/api/v2", "https://evil.com/x.example.com/api/v2", false],
    ["https://*.example.com/api/v2", "https://example.com/api/v2", false],
    ["https://service.example.com/api/v2", "https://serviceXexample.com/api/v2", false],
    ["https://service.example.com/api/v2", "https://service.example.com/api/v2/more", false],
    ["https://service.example.com/api/v2", "http://service.example.com/api/v2", false],
    ["https://service.example.com/*", "https://service.example.com/api/v2", false],
    ["*", "https://service.example.com/api/v2", false],
  ])("%s and %s: %s", (pattern, url, holds) => {
    expect(isAllowedBaseURL(url, [pattern])).toBe(holds);
  });

  test.each([
    "https://console.neon.tech@169.254.169.254/api/v2",
    "https://console.neon.tech:443@169.254.169.254/api/v2",
    "https://console.neon.tech%40169.254.169.254/api/v2",
    "https://console.neon.tech%2f@169.254.169.254/api/v2",
    "https://console.neon.tech.evil.example/api/v2",
    "https://console.neon.tech./api/v2",
    "https://console.neon.tech:8443/api/v2",
    "https://console.neon.tech\\@169.254.169.254/api/v2",
    "https://169.254.169.254/https://console.neon.tech/api/v2",
    "https://169.254.169.254/api/v2?https://console.neon.tech/api/v2",
    "https://169.254.169.254/api/v2#https://console.neon.tech/api/v2",
    "https://console.neon.tech/api/v2/../../latest/meta-data",
    "https://console.neon.tech/api/v2/%2e%2e/%2E%2E/admin",
    "http://console.neon.tech/api/v2",
    "http://[::ffff:169.254.169.254]/api/v2",
    "http://[::1]:8080/api/v2",
    "http://0x7f000001/api/v2",
    "http://2130706433/api/v2",
    "http://0177.0.0.1/api/v2",
    "http://localhost:8080/api/v2",
    "https://console.neon.tech\n.evil.example/api/v2",
  ])("the pattern is not got round by %j", (text) => {
    const normalised = normalisedBaseURL(text);
    const reached = normalised !== undefined && isAllowedBaseURL(normalised, ["https://console.neon.tech/api/v2"]);
    expect(reached).toBe(false);
  });

  test("takes one address however it is written", () => {
    const normalised = normalisedBaseURL("HTTPS://CONSOLE.NEON.TECH:443/api/./v2/") ?? "";
    expect(isAllowedBaseURL(normalised, ["https://console.neon.tech/api/v2"])).toBe(true);
  });

  test.each([
    ["https://service.example.com:443/api/v2", "https://service.example.com:443/api/v2"],
    ["http://*.example.com:80/api/v2", "http://service.example.com/api/v2"],
    ["https://[fd00::1]:443/api/v2", "https://[fd00::1]/api/v2"],
  ])("may name the port that goes without saying: %s", (pattern, url) => {
    expect(isAllowedBaseURL(normalisedBaseURL(url) ?? "", [pattern])).toBe(true);
    expect(isAllowedBaseURL(normalisedBaseURL(url.replace(/(:[0-9]+)?\/api/, ":8443/api")) ?? "", [pattern])).toBe(
      false,
    );
  });

  test("need not be the only one", () => {
    expect(isAllowedBaseURL("https://b/api/v2", ["https://a/api/v2", "https://b/api/v2"])).toBe(true);
    expect(isAllowedBaseURL("https://b/api/v2", [])).toBe(false);
  });
});

describe("a connection and its Secret", () => {
  test("amount to an account, whose key is read without the blanks around it", () => {
    const resolved = resolve(connection(), apiKeySecret({ key: " napi_key\n" }), allowed);
    const account = resolved.kind === "account" ? resolved.account : undefined;
    expect(account?.baseURL).toBe("https://service.example.com/api/v2");
    expect(account?.key.authorization()).toBe("Bearer napi_key");
  });

  test("may name an authority, of which every certificate is read", () => {
    const resolved = resolve(connection({ spec: { caBundle: `# ours\n${pem}\n${pem}` } }), apiKeySecret(), allowed);
    expect(resolved).toMatchObject({ kind: "account", account: { caBundle: expect.stringContaining(pem) } });
  });

  test.each([
    ["whose certificate is cut off", `${pem.slice(0, 200)}\n-----END CERTIFICATE-----`, "Certificate 1 of 1"],
    ["whose second is nonsense", `${pem}\n-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----`, "2 of 2"],
    ["whose end is missing", `${pem}\n${pem.slice(0, 300)}`, "A certificate"],
  ])("a connection and its Secret with an authority %s are refused, and nothing is sent", (_, caBundle, text) => {
    expect(resolve(connection({ spec: { caBundle } }), apiKeySecret(), allowed)).toMatchObject({
      kind: "refused",
      reason: "Unreachable",
      message: expect.stringMatching(new RegExp(`${text}.*spec.caBundle cannot be read.*BEGIN CERTIFICATE`)),
    });
  });

  test("may name another key of the Secret", () => {
    const named = connection({ spec: { apiKeySecretRef: { name: "service", key: "other" } } });
    expect(resolve(named, apiKeySecret({ under: "other" }), allowed).kind).toBe("account");
  });

  test.each([
    ["NotAllowed", { baseURL: "https://evil.example.com/api/v2" }, apiKeySecret(), "--allowed-base-url"],
    ["NotAllowed", { baseURL: "http://127.0.0.1:8080/api/v2" }, apiKeySecret(), "https://service.example.com/api/v2"],
    ["SecretNotFound", {}, undefined, "of type compute-operator.dev/api-key"],
    ["InvalidSecret", {}, apiKeySecret({ under: "token" }), 'has no key "api-key"'],
    ["InvalidSecret", { apiKeySecretRef: { name: "service", key: "constructor" } }, apiKeySecret(), "has no key"],
    ["InvalidSecret", {}, apiKeySecret({ key: " \n" }), "is empty"],
    ["InvalidSecret", {}, apiKeySecret({ key: "two\nlines" }), "with spaces or line breaks in it"],
    ["InvalidSecret", {}, apiKeySecret({ key: "ключ" }), "characters beyond ASCII. Put the API key alone there"],
    ["InvalidSecret", {}, apiKeySecret({ key: "caf\u00e9" }), "no spaces, ASCII only"],
    ["InvalidSecret", {}, apiKeySecret({ key: "Bearer napi_abc" }), "leave Bearer out"],
    ["InvalidSecret", {}, apiKeySecret({ key: "authorization: bearer napi_abc" }), "leave Bearer out"],
    ["InvalidSecret", {}, apiKeySecret({ key: "x".repeat(2000) }), "of more than 1024 characters"],
  ])("a connection and its Secret are refused as %s, which says what to do (%j)", (reason, spec, secret, text) => {
    const refused = resolve(connection({ spec }), secret, allowed);
    expect(refused).toMatchObject({ kind: "refused", reason, message: expect.stringContaining(text) });
    expect(JSON.stringify(refused)).not.toMatch(/two|ключ|xxx/);
  });
});

test("the Secret of a ServiceConnection is looked for in its own namespace", () => {
  expect(resolve(connection(), undefined, allowed, "compute-operator-system")).toEqual({
    kind: "refused",
    reason: "SecretNotFound",
    message: expect.stringContaining("compute-operator.dev/api-key in this namespace. Create it"),
  });
});
