import type { IncomingMessage } from "node:http";

/** The most that a request may have of each: more costs time before anyone is known, and no call needs it. */
const most = { characters: 4096, parameters: 64, headers: 100 };

/** Parts of a path that lead out of it: a proxy may have refused, or passed it on, by how it begins. */
const leadingOut = /\\|\/(\.|%2e){1,2}(\/|$)/i;

/** Names that count once: where a request has two, a proxy before the service may have looked at the other one. */
const single = ["host", "authorization", "origin"];

/**
 * The URL that was asked for; `null` where it is none, is too long or not the shortest, or where the request has too
 * many headers, two of one that counts, or no host. A proxy sends it whole, other clients its path.
 */
export function urlOf(incoming: Pick<IncomingMessage, "url" | "headers" | "rawHeaders" | "httpVersion">): URL | null {
  const { url = "", rawHeaders, httpVersion } = incoming;
  if (url.length > most.characters || url.split("&", most.parameters + 1).length > most.parameters) return null;
  if (rawHeaders.length > 2 * most.headers) return null;
  const [path = ""] = url.split(/[?#]/, 1);
  if (leadingOut.test(path)) return null;
  const names = rawHeaders.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase());
  if (httpVersion === "1.1" && !names.includes("host")) return null;
  if (single.some((name) => names.indexOf(name) !== names.lastIndexOf(name))) return null;
  if (url.startsWith("/")) return URL.parse(`http://localhost${url}`);
  const whole = URL.parse(url);
  return whole?.host === URL.parse(`${whole?.protocol}//${incoming.headers.host}`)?.host ? whole : null;
}
