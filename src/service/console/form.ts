import type { ServiceCall } from "../http/message.ts";
import type { Form } from "./visit.ts";

/** The fields of a form that was sent; none where the body is not one. */
export function formOf({ headers, body }: ServiceCall): Form {
  if (!/^application\/x-www-form-urlencoded\b/i.test(headers?.["content-type"] ?? "")) return {};
  return Object.fromEntries(new URLSearchParams(body));
}
