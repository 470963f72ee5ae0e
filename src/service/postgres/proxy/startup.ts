import { isUtf8 } from "node:buffer";
import type { Parameters } from "../session/messages.ts";
import { Rejection } from "../session/rejection.ts";

/** The first message of a client. */
export type Opening =
  | { kind: "incomplete" }
  /** A TLS handshake without a question before it (`sslnegotiation=direct`). */
  | { kind: "tls" }
  | { kind: "ssl-request"; length: number }
  | { kind: "gss-request"; length: number }
  | { kind: "cancel"; key: Buffer }
  | { kind: "startup"; version: number; parameters: Parameters; length: number }
  | { kind: "invalid"; rejection: Rejection };

/** Postgres's own limit, in bytes. */
const longestPacket = 10_000;

/** The most of a packet that is taken apart before anyone is known. */
const most = { parameters: 64, options: 2048 };

const codes = { cancel: 80877102, ssl: 80877103, gss: 80877104 } as const;

/** Reads the first packet of a connection from what has come in so far. */
export function readOpening(received: Buffer): Opening {
  if (received.length === 0) return { kind: "incomplete" };
  if (received[0] === 0x16) return { kind: "tls" };
  if (received.length < 8) return { kind: "incomplete" };
  const length = received.readUInt32BE(0);
  if (length < 8 || length > longestPacket) return invalid("invalid length of startup packet");
  if (received.length < length) return { kind: "incomplete" };
  const version = received.readUInt32BE(4);
  const body = received.subarray(8, length);
  switch (version) {
    case codes.ssl:
      return { kind: "ssl-request", length };
    case codes.gss:
      return { kind: "gss-request", length };
    case codes.cancel:
      return body.length >= 8 ? { kind: "cancel", key: Buffer.from(body) } : invalid("invalid cancel request");
  }
  if (version >>> 16 !== 3) {
    return invalid(`unsupported frontend protocol ${version >>> 16}.${version & 0xffff}: server supports 3.0`, "0A000");
  }
  // Read as text, such a name would become another one.
  if (!isUtf8(body)) return invalid("the names of role and database must be UTF-8", "22021");
  // A name and a value each, and the end of the list and of the packet.
  const parts = 2 * most.parameters + 2;
  if (body.toString("latin1").split("\0", parts + 1).length > parts) {
    return invalid(`more than ${most.parameters} parameters in startup packet`);
  }
  const parameters = parametersIn(body);
  if (!parameters) return invalid("invalid startup packet layout");
  if ((parameters.get("options") ?? "").length > most.options) {
    return invalid(`the parameter options has more than ${most.options} characters`);
  }
  if (!parameters.get("user")) return invalid("no PostgreSQL user name specified in startup packet", "28000");
  return { kind: "startup", version, parameters, length };
}

function invalid(message: string, sqlState = "08P01"): Opening {
  return { kind: "invalid", rejection: new Rejection(sqlState, message) };
}

/**
 * Names and values, each ended by a zero byte, and one more at the end; `undefined` where they are not that. A server
 * reads up to the first name that is empty: what follows it here would not be there.
 */
function parametersIn(body: Buffer): Map<string, string> | undefined {
  const parts = body.toString("utf8").split("\0");
  if (parts.at(-1) !== "" || parts.at(-2) !== "" || parts.length % 2 !== 0) return undefined;
  const parameters = new Map<string, string>();
  for (let index = 0; index + 2 < parts.length; index += 2) parameters.set(parts[index] ?? "", parts[index + 1] ?? "");
  return parameters.has("") ? undefined : parameters;
}

/** The packet that asks a server to end a query. */
export function cancelPacket(key: Buffer): Buffer {
  const head = Buffer.alloc(8);
  head.writeUInt32BE(key.length + 8, 0);
  head.writeUInt32BE(codes.cancel, 4);
  return Buffer.concat([head, key]);
}
