/**
 * The proxy to go through to reach a server: the one that the kubeconfig names, else HTTPS_PROXY or HTTP_PROXY (upper
 * or lower case) unless NO_PROXY excepts the host. Throws for a kind of proxy that is not supported.
 */
export function proxyFor(
  server: string,
  configured: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
): string | undefined {
  const { protocol, hostname } = new URL(server);
  const variable = protocol === "https:" ? "HTTPS_PROXY" : "HTTP_PROXY";
  const fromEnvironment = excepted(hostname, either(env, "NO_PROXY")) ? undefined : either(env, variable);
  const proxy = configured ?? fromEnvironment;
  if (proxy === undefined) return undefined;
  if (!/^https?:\/\//i.test(proxy)) {
    throw new Error(`The proxy ${withoutCredentials(proxy)} cannot be used: only http:// and https:// proxies can`);
  }
  return proxy;
}

function either(env: Readonly<Record<string, string | undefined>>, name: string): string | undefined {
  const value = env[name] ?? env[name.toLowerCase()];
  return value === undefined || value.trim() === "" ? undefined : value.trim();
}

/** NO_PROXY holds `*`, hosts, IPv4 ranges, and domains, with or without a leading dot and with all below them. */
function excepted(hostname: string, list: string | undefined): boolean {
  const host = hostname.replace(/^\[|\]$/g, "").toLowerCase();
  return (list ?? "")
    .split(/[\s,]+/)
    .filter((entry) => entry !== "")
    .some((entry) => {
      const [name = ""] = entry.toLowerCase().split(/:\d+$/);
      if (name === "*") return true;
      if (name.includes("/")) return inRange(host, name);
      const domain = name.replace(/^\*?\./, "");
      return host === domain || host.endsWith(`.${domain}`);
    });
}

function inRange(host: string, range: string): boolean {
  const [base = "", bits = ""] = range.split("/");
  const [address, network, length] = [ipv4(host), ipv4(base), Number(bits)];
  if (address === undefined || network === undefined || !(length >= 0 && length <= 32)) return false;
  const size = 2 ** (32 - length);
  return Math.floor(address / size) === Math.floor(network / size);
}

function ipv4(text: string): number | undefined {
  const parts = text.split(".").map((part) => (/^\d{1,3}$/.test(part) ? Number(part) : Number.NaN));
  if (parts.length !== 4 || !parts.every((part) => part <= 255)) return undefined;
  return parts.reduce((sum, part) => sum * 256 + part, 0);
}

function withoutCredentials(proxy: string): string {
  return proxy.replace(/\/\/[^@/]*@/, "//");
}
