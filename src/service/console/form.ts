import type { ServiceCall } from "../http/message.ts";
import type { Form } from "./visit.ts";

/** The fields of a submitted form; empty if the body is none. */
export function formOf({ headers, body }: ServiceCall): Form {
  if (!/^application\/x-www-form-urlencoded\b/i.test(headers?.["content-type"] ?? "")) return {};
  return Object.fromEntries(new URLSearchParams(body));
}
