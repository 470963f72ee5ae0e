import type { ServiceCall } from "./message.ts";

/** The address of a request that has none. */
export const loopback = "127.0.0.1";

/** True if the system gives this address to a client of this machine. Istio's sidecars use 127.0.0.6 for strangers. */
function isLoopback(address: string): boolean {
  return /^(::1|(::ffff:)?127\.0\.0\.1)$/.test(address);
}

/** Headers that only a proxy adds: it says from where, or for which address, it passes a call on, or names itself. */
const forwarding = [
  /(^|[-_])forwarded([-_]|$)/,
  /^(via|cdn-loop)$/,
  /(^|[-_])(client|socket)?(ip|addr)$/,
  /^x[-_](envoy|original|rewrite|proxy)[-_]/,
  /^(cf|x-(amzn|arr|azure))-/,
];

/**
 * True if the caller runs on this machine: both its address and the name in `Host` are loopback. A foreign name that
 * resolves to this machine does not count, nor does a proxy on it. nginx adds no header and sends the name of its own
 * target unless told otherwise, but speaks HTTP/1.0 then, as no browser or client of these calls does. A call without
 * an address and headers was made in this process.
 */
export function isOnThisMachine({ remote, headers, httpVersion = "1.1" }: ServiceCall): boolean {
  if (httpVersion === "1.0") return false;
  if (Object.keys(headers ?? {}).some((name) => forwarding.some((header) => header.test(name)))) return false;
  const host = headers?.["host"];
  if (host === undefined) return remote === undefined;
  return isLoopback(remote ?? loopback) && isLoopbackHost(host.replace(/:[0-9]+$/, ""));
}

/** True if a host name can only mean this machine. */
export function isLoopbackHost(name: string): boolean {
  return /^(localhost|127(\.[0-9]{1,3}){3}|::1|\[::1\])$/i.test(name);
}

/**
 * True if the browser reports that a page of another site sent the request. Older browsers report nothing. No origin is
 * parsed as a URL: a stranger may send one that takes 40 ms.
 */
export function isFromElsewhere({ headers }: ServiceCall): boolean {
  const { origin, host, "sec-fetch-site": site } = headers ?? {};
  if (site !== undefined && site !== "same-origin" && site !== "none") return true;
  return origin !== undefined && origin !== `http://${host}` && origin !== `https://${host}`;
}

/** True if a program on this machine, or its own page, sent the call, and neither a proxy nor another site's page. */
export function isLocal(call: ServiceCall): boolean {
  return isOnThisMachine(call) && !isFromElsewhere(call);
}
