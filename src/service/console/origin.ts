import { isLoopback, loopback } from "../http/loopback.ts";
import type { ServiceCall } from "../http/message.ts";
import type { Form } from "./visit.ts";

/** The fields of a form that was sent; none where the body is not one. */
export function formOf({ headers, body }: ServiceCall): Form {
  if (!/^application\/x-www-form-urlencoded\b/i.test(headers?.["content-type"] ?? "")) return {};
  return Object.fromEntries(new URLSearchParams(body));
}

/** Whether the browser itself says that another site's page sent a form. Older browsers say nothing. */
export function isFromElsewhere({ headers }: ServiceCall): boolean {
  const { origin, host, "sec-fetch-site": site } = headers ?? {};
  if (site !== undefined && site !== "same-origin" && site !== "none") return true;
  return origin !== undefined && hostOf(origin) !== host;
}

/**
 * Whether the browser runs on this machine and knows it: the address is a loopback one, and so is the name that the
 * person typed. A foreign name that was made to point here, and a proxy on this machine, do not count.
 */
export function isOnThisMachine({ remote = loopback, headers }: ServiceCall): boolean {
  const { host = "", forwarded, "x-forwarded-for": forwardedFor, via } = headers ?? {};
  if ([forwarded, forwardedFor, via].some((header) => header !== undefined)) return false;
  const name = host.replace(/:[0-9]+$/, "");
  return isLoopback(remote) && /^(localhost|127(\.[0-9]{1,3}){3}|\[::1\])$/i.test(name);
}

function hostOf(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host : undefined;
}
