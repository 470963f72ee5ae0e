import { BlockList, isIP } from "node:net";

/**
 * The proxy for a server: the one of the kubeconfig, else HTTPS_PROXY or HTTP_PROXY (upper or lower case) unless
 * NO_PROXY excludes the host. Throws if the kind of proxy is not supported.
 */
export function proxyFor(
  server: string,
  configured: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
): string | undefined {
  const { protocol, hostname } = new URL(server);
  const variable = protocol === "https:" ? "HTTPS_PROXY" : "HTTP_PROXY";
  const fromEnvironment = isExcluded(hostname, setting(env, "NO_PROXY")) ? undefined : setting(env, variable);
  const proxy = configured ?? fromEnvironment;
  if (proxy === undefined) return undefined;
  if (!/^https?:\/\//i.test(proxy)) {
    throw new Error(`The proxy ${withoutCredentials(proxy)} cannot be used: only http:// and https:// proxies can`);
  }
  return proxy;
}

function setting(env: Readonly<Record<string, string | undefined>>, name: string): string | undefined {
  const value = env[name] ?? env[name.toLowerCase()];
  return value === undefined || value.trim() === "" ? undefined : value.trim();
}

/** NO_PROXY lists `*`, hosts, addresses, ranges, and domains, which include their subdomains. */
function isExcluded(hostname: string, list: string | undefined): boolean {
  const host = withoutBrackets(hostname);
  return (list ?? "")
    .split(/[\s,]+/)
    .filter((entry) => entry !== "")
    .some((entry) => {
      const name = withoutPort(entry.toLowerCase());
      if (name === "*") return true;
      if (name.includes("/")) return inRange(host, name);
      const domain = name.replace(/^\*?\./, "");
      return isIP(domain) === 6 ? inRange(host, `${domain}/128`) : host === domain || host.endsWith(`.${domain}`);
    });
}

/** In an IPv6 address, the last colon starts a port only after brackets. */
function withoutPort(entry: string): string {
  return isIP(entry) === 6 ? entry : withoutBrackets(entry.replace(/:\d+$/, ""));
}

function withoutBrackets(host: string): string {
  return host.replace(/^\[|\]$/g, "");
}

function inRange(host: string, range: string): boolean {
  const [base = "", bits = ""] = range.split("/");
  const [kind, length] = [isIP(base), Number(bits)];
  if (kind === 0 || isIP(host) !== kind || !/^\d+$/.test(bits) || length > (kind === 4 ? 32 : 128)) return false;
  const family = kind === 4 ? "ipv4" : "ipv6";
  const within = new BlockList();
  within.addSubnet(base, length, family);
  return within.check(host, family);
}

/** Names the proxy in the words for a request without an answer: it may be what cannot be reached. */
export function viaProxy(proxy: string | undefined): string {
  return proxy === undefined ? "" : ` (through the proxy ${withoutCredentials(proxy)})`;
}

function withoutCredentials(proxy: string): string {
  return proxy.replace(/\/\/.*@/, "//").replace(/\/$/, "");
}
