import { refusals } from "../refusal.ts";
import { type JsonLimits, JsonSize } from "./json-size.ts";
import { type ServiceCall, type ServiceReply, serialisedReply } from "./message.ts";
import type { Handled } from "./route.ts";
import { type TurnsOfLoop, textOf } from "./rows.ts";

/** The most that a body has which a call can use; above a list of 1,000 faults. */
export const bodyLimits: JsonLimits = {
  depth: 16,
  width: 1000,
  values: 10_000,
  string: 65_536,
  escapes: 500_000,
  names: 3_000_000,
};

/** The body of a call as JSON; `undefined` where it has none. It is counted before it is parsed. */
export function parsedBody({ body }: ServiceCall): unknown {
  if (body === undefined || body.trim() === "") return undefined;
  const excess = new JsonSize(bodyLimits).push(Buffer.from(body));
  if (excess !== undefined) throw refusals.invalid(`the request body has ${excess}`);
  const value = valueOf(body);
  if (!/\\u|__proto__/.test(body)) return value;
  const text = JSON.stringify(value);
  if (unkept.test(text))
    throw refusals.invalid("the request body has the character U+0000 or half of a pair, which Postgres cannot keep");
  if (lost.test(text)) throw refusals.invalid("the request body has a field __proto__: give it another name");
  return value;
}

function valueOf(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    throw refusals.invalid("the request body is not JSON");
  }
}

/** U+0000 and half of a pair, which JSON.stringify always escapes; an escaped backslash starts no escape. */
const unkept = /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f])/;

/** A field that objects of JavaScript have already, and so drop from a copy; a quote within a text is escaped. */
const lost = /[{,]"__proto__":/;

/** The client's own id of the request, if it sent one; the answer carries it. */
export function requestIdOf({ headers }: ServiceCall): string | undefined {
  const id = headers?.["x-request-id"];
  return id !== undefined && /^[\x21-\x7e]{1,128}$/.test(id) ? id : undefined;
}

/** The JSON text of a route's answer; `undefined` where it has none. */
export function jsonOf({ body, keep }: Handled, turns: TurnsOfLoop): string | undefined | Promise<string> {
  if (body === undefined || typeof body === "string") return body;
  if (body instanceof Promise) return body.then((late: unknown) => JSON.stringify(late));
  const text = textOf(body, turns);
  if (typeof text === "string") keep?.(text);
  else if (keep) void text.then(keep, () => {});
  return text;
}

/** The reply with an answer's JSON text. */
export function replyOf(status: number, json: string | undefined, requestId: string | undefined): ServiceReply {
  const headers = requestId === undefined ? {} : { "x-request-id": requestId };
  return json === undefined ? { status, headers } : serialisedReply(status, json, headers);
}

/** A reply with the service's own time, which `POST /_clock/advance` moves, where it has no other. */
export function dated(reply: ServiceReply, at: number): ServiceReply {
  const headers = { date: new Date(at).toUTCString(), ...reply.headers };
  return { ...reply, headers, ...(reply.later && { later: reply.later.then((late) => dated(late, at)) }) };
}
