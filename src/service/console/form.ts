import type { ServiceCall } from "../http/message.ts";
import { decoded } from "../http/router.ts";
import type { Form } from "./visit.ts";

/** More fields than any form of the console has: a stranger's would take time before anyone is known. */
const mostFields = 64;

/** The fields of a submitted form; empty if the body is none. */
export function formOf({ headers, body = "" }: ServiceCall): Form {
  if (!/^application\/x-www-form-urlencoded\b/i.test(headers?.["content-type"] ?? "")) return {};
  if (body.split("&", mostFields + 1).length > mostFields) return {};
  return Object.fromEntries(new URLSearchParams(body));
}

/** A name as the value of a field: browsers change its line breaks, and the spaces in a choice's words. */
export function valueOf(name: string): string {
  return encodeURIComponent(name);
}

/** The name of such a value, also where a person has written it into an address. */
export function nameOf(value: string | undefined): string {
  return decoded([value ?? ""])?.[0] ?? "";
}
