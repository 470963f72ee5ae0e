import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { Holding } from "../sharing/shares.ts";
import type { BodyRoom } from "./body.ts";
import type { ServiceCall, ServiceReply } from "./message.ts";
import type { Reached } from "./reached.ts";

/** A request of `POST /sql` whose body has not been read. */
export interface SqlCall {
  /** Names in lower case. */
  headers: Readonly<Record<string, string>>;
  /** The network of the client. */
  from: string;
  /** Bytes of the budget, in the name of a compute: for the body and the answer. */
  hold(endpointId: string): Holding;
  /** Reads the body. Rejects with `Refusal`. */
  body(room: BodyRoom): Promise<string>;
  /** Aborts when the client has left. */
  gone: AbortSignal;
}

/** SQL on the service's port; exists only with real servers behind the computes. */
export interface SqlAccess {
  /** Answers `POST /sql`: logs the client in by its headers before it reads the body. Rejects with `Refusal`. */
  answer(call: SqlCall): Promise<ServiceReply>;
  /** Called before a call is answered: what clients have changed with SQL is then in the store. */
  refresh(reached: Reached): Promise<void>;
  /**
   * Takes a connection over for the WebSocket at `/v2`. Calls `release` once its client has logged in, or nothing is
   * kept for it any more: one that has left may still wait for its compute.
   */
  upgrade(incoming: IncomingMessage, socket: Duplex, head: Buffer, url: URL, release: () => void): void;
}

/** Lets pages of any site call `POST /sql`: nothing but the password in the request gives them a right. */
const anySite = { "access-control-allow-origin": "*" };

/** An answer that pages of any site may read. */
export function forAnySite(reply: ServiceReply): ServiceReply {
  return { ...reply, headers: { ...reply.headers, ...anySite } };
}

const allow = { allow: "OPTIONS, POST" };

/**
 * The answer to `OPTIONS /sql`. A browser asks so whether a page may send a method and headers: the page may send what
 * the vendor's driver sends.
 */
export function preflight({ headers }: Pick<ServiceCall, "headers">): ServiceReply {
  if (headers?.["access-control-request-method"] !== "POST") return { status: 200, headers: allow };
  return forAnySite({
    status: 200,
    headers: {
      ...allow,
      "access-control-allow-methods": "POST",
      "access-control-allow-headers": [
        "Authorization",
        "Content-Type",
        "Neon-Connection-String",
        "Neon-Raw-Text-Output",
        "Neon-Array-Mode",
        "Neon-Batch-Read-Only",
        "Neon-Batch-Isolation-Level",
        "Neon-Batch-Deferrable",
      ].join(", "),
      "access-control-max-age": "86400",
    },
  });
}
