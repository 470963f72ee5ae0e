import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test, vi } from "vitest";
import { loadKubeConfig } from "../../../src/operator/kube/kubeconfig.ts";
import { proxyFor } from "../../../src/operator/runtime/proxy.ts";

const directory = mkdtempSync(join(tmpdir(), "kubeconfig-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

function file(name: string, text: string): string {
  // Cases that are made while this file is loaded have theirs before any hook runs.
  mkdirSync(directory, { recursive: true });
  const path = join(directory, name);
  writeFileSync(path, text);
  return path;
}

function kubeconfig(parts: { user?: object; cluster?: object; context?: string }): string {
  const config = {
    apiVersion: "v1",
    kind: "Config",
    "current-context": parts.context ?? "here",
    clusters: [{ name: "c", cluster: { server: "https://10.0.0.1:6443/", ...parts.cluster } }],
    users: [{ name: "u", user: parts.user ?? {} }],
    contexts: [{ name: "here", context: { cluster: "c", user: "u", namespace: "shop" } }],
  };
  return file(`config-${Math.floor(performance.now() * 1000)}`, JSON.stringify(config));
}

const base64 = (text: string) => Buffer.from(text).toString("base64");

test("a kubeconfig names server and namespace", () => {
  const connection = loadKubeConfig({ file: kubeconfig({}), env: {} });
  expect(connection).toMatchObject({
    server: "https://10.0.0.1:6443",
    namespace: "shop",
    proxy: undefined,
    inCluster: false,
  });
});

test("a kubeconfig with certificates gives them for TLS, with the server's name and authority", async () => {
  const user = { "client-certificate-data": base64("CERT"), "client-key-data": base64("KEY") };
  const cluster = { "certificate-authority-data": base64("CA"), "tls-server-name": "kubernetes" };
  const { tls, headers } = await loadKubeConfig({ file: kubeconfig({ user, cluster }), env: {} }).credentials();
  expect(tls).toMatchObject({ ca: "CA", cert: "CERT", key: "KEY", servername: "kubernetes" });
  expect(headers).toEqual({});
});

test("a kubeconfig that names an authority's file gives the file as it is now", async () => {
  const ca = file("ca.crt", "OLD");
  const connection = loadKubeConfig({ file: kubeconfig({ cluster: { "certificate-authority": ca } }), env: {} });
  expect((await connection.credentials()).tls.ca).toBe("OLD");
  writeFileSync(ca, "NEW");
  expect((await connection.credentials()).tls.ca).toBe("NEW");
});

test.each([
  ["a token", { token: "abc" }, "Bearer abc"],
  ["a user and password", { username: "ana", password: "pw" }, `Basic ${base64("ana:pw")}`],
  [
    "a token file",
    { "auth-provider": { name: "tokenFile", config: { tokenFile: file("token", "from-file\n") } } },
    "Bearer from-file",
  ],
  [
    "an exec plugin",
    {
      exec: {
        apiVersion: "client.authentication.k8s.io/v1",
        command: process.execPath,
        args: ["-e", `console.log('{"status":{"token":"from-plugin"}}')`],
      },
    },
    "Bearer from-plugin",
  ],
])("a kubeconfig with %s gives the header", async (_what, user, expected) => {
  const { headers } = await loadKubeConfig({ file: kubeconfig({ user }), env: {} }).credentials();
  expect(headers.Authorization).toBe(expected);
});

test.each([
  ["http://10.0.0.1:6443", /must be a URL that begins with https:\/\/.* Plain HTTP, as of kubectl proxy, needs/],
  ["http://ana:pw@10.0.0.1", /has "http:\/\/10.0.0.1" as the server of cluster "c"/],
  ["10.0.0.1:6443", /has "10.0.0.1:6443" as the server of cluster "c": it must be .* for example https:\S+6443$/],
  ["not a URL", /has "not a URL" as the server of cluster "c"/],
])("a server of %j is refused with what is allowed", (server, message) => {
  expect(() => loadKubeConfig({ file: kubeconfig({ cluster: { server } }), env: {} })).toThrow(message);
});

test("a kubeconfig may name a server over plain HTTP where it says that nothing is verified", async () => {
  const cluster = { server: "http://127.0.0.1:8001", "insecure-skip-tls-verify": true };
  const connection = loadKubeConfig({ file: kubeconfig({ cluster }), env: {} });
  expect(connection.server).toBe("http://127.0.0.1:8001");
  expect((await connection.credentials()).tls.rejectUnauthorized).toBe(false);
});

test("a kubeconfig that is not YAML is refused with the place, and without the lines around it, where keys stand", () => {
  const text = "users:\n- name: me\n  user:\n    token: very-secret\n   oops: bad\n";
  expect(() => loadKubeConfig({ file: file("broken", text), env: {} })).toThrow(
    /^Cannot read the kubeconfig from \S+broken: bad indentation of a mapping entry \(5:4\)\. Correct it, or name [^\n]*$/,
  );
});

test("a kubeconfig that is missing, or has a context without a cluster, is refused with what to do", () => {
  expect(() => loadKubeConfig({ file: join(directory, "missing"), env: {} })).toThrow(
    /^Cannot read the kubeconfig from .*missing: ENOENT.* name another file with --kubeconfig$/,
  );
  expect(() => loadKubeConfig({ file: file("text", "hello"), env: {} })).toThrow(
    /text has no current context: choose one with kubectl config use-context/,
  );
  expect(() => loadKubeConfig({ file: kubeconfig({ context: "elsewhere" }), env: {} })).toThrow(
    /names no cluster in its current context \(elsewhere\): choose one with kubectl config use-context/,
  );
});

test("where there is no kubeconfig at all, that is said, and no server is made up", () => {
  vi.stubEnv("KUBECONFIG", "");
  vi.stubEnv("HOME", directory);
  try {
    expect(() => loadKubeConfig({ env: {} })).toThrow(
      /^No cluster to talk to: .* KUBECONFIG is not set, .* Name a kubeconfig with --kubeconfig$/,
    );
  } finally {
    vi.unstubAllEnvs();
  }
});

describe("the proxy to the API server", () => {
  const env = { HTTPS_PROXY: "http://proxy:3128" };
  const server = "https://10.96.0.1:443";
  const v6 = "https://[fd00:10:96::1]:6443";
  test.each([
    ["none where nothing names one", server, undefined, {}, undefined],
    ["the environment's", server, undefined, env, "http://proxy:3128"],
    ["in lower case too", server, undefined, { https_proxy: "http://proxy:3128" }, "http://proxy:3128"],
    ["the kubeconfig's before the environment's", server, "http://own:1", env, "http://own:1"],
    ["none for an excepted address", server, undefined, { ...env, NO_PROXY: "10.96.0.1" }, undefined],
    ["none for an excepted range", server, undefined, { ...env, NO_PROXY: "localhost,10.96.0.0/12" }, undefined],
    ["the environment's beside the range", server, undefined, { ...env, NO_PROXY: "10.0.0.0/12" }, "http://proxy:3128"],
    ["none below an excepted domain", "https://a.svc.local", undefined, { ...env, no_proxy: ".svc.local" }, undefined],
    ["none for an excepted IPv6 address", v6, undefined, { ...env, NO_PROXY: "10.96.0.1,fd00:10:96::1" }, undefined],
    ["none for one in brackets", v6, undefined, { ...env, NO_PROXY: "[fd00:10:96::1]" }, undefined],
    ["none for one with a port", v6, undefined, { ...env, NO_PROXY: "[fd00:10:96::1]:6443" }, undefined],
    ["none for an excepted IPv6 range", v6, undefined, { ...env, NO_PROXY: "fd00:10::/32" }, undefined],
    ["the environment's beside that range", v6, undefined, { ...env, NO_PROXY: "fd00:11::/32" }, "http://proxy:3128"],
    [
      "the environment's beside the IPv6 address",
      v6,
      undefined,
      { ...env, NO_PROXY: "fd00:10:96::2" },
      "http://proxy:3128",
    ],
    ["none where all are excepted", server, undefined, { ...env, NO_PROXY: "*" }, undefined],
    ["not that of another protocol", "http://10.96.0.1", undefined, env, undefined],
  ])("the proxy is %s", (_what, url, configured, environment, expected) => {
    expect(proxyFor(url, configured, environment)).toBe(expected);
  });

  test("a proxy of an unknown kind is refused without showing its password", () => {
    expect(() => proxyFor(server, "socks5://ana:pw@proxy:1080", {})).toThrow(
      "The proxy socks5://proxy:1080 cannot be used: only http:// and https:// proxies can",
    );
  });
});
