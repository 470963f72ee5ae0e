import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import type { Service } from "../service.ts";
import type { EventStream, Exchange } from "./exchange.ts";
import { jsonReply, type ServiceCall, type ServiceReply } from "./message.ts";

/** The longest request body that is read, in bytes. */
const maxBodyBytes = 1_000_000;

/** Longest time for a request to arrive completely, in milliseconds; after that the answer is 408. */
const defaultRequestTimeoutMs = 30_000;

/** Lifetime of an idle connection: longer than clients keep theirs, so that no client uses a closing one. */
const keepAliveMs = 65_000;

/**
 * Time for which the rest of an oversized body is read and dropped, so that its sender reads the answer. In
 * milliseconds.
 */
const lingerMs = 500;

/** A service that listens. */
export interface Listening {
  /** The port in use: the one asked for, or with 0 any free one. */
  port: number;
  /** Accepts no more requests, closes all connections and resolves when that is done. */
  close(): Promise<void>;
}

/** The address to listen on, and the longest time for a request to arrive, in milliseconds. */
export interface ListenOptions {
  host: string;
  port: number;
  requestTimeoutMs?: number;
}

/** The part of the service that answers requests. */
export type Answering = Pick<Service, "context" | "exchange" | "internalError">;

/** Lets pages of any site call `POST /sql`: nothing but the password in the request gives them a right. */
const anySite = { "access-control-allow-origin": "*" };

/** The answer to a browser that asks whether a page may call `POST /sql`, as the vendor gives it. */
const preflight: ServiceReply = {
  status: 200,
  headers: {
    ...anySite,
    allow: "OPTIONS, POST",
    "access-control-allow-methods": "OPTIONS, POST",
    "access-control-allow-headers": [
      "Authorization",
      "Content-Type",
      "Neon-Connection-String",
      "Neon-Raw-Text-Output",
      "Neon-Array-Mode",
      "Neon-Pool-Opt-In",
      "Neon-Batch-Read-Only",
      "Neon-Batch-Isolation-Level",
      "Neon-Batch-Deferrable",
    ].join(", "),
    "access-control-max-age": "86400",
  },
};

/** SQL on the service's port; exists only with real servers behind the computes. */
export interface SqlAccess {
  /** The largest body of a request, in bytes. */
  longestBody: number;
  /** Answers `POST /sql`. `gone` aborts when the client has left. */
  answer(call: ServiceCall, gone: AbortSignal): Promise<ServiceReply>;
  /** Called before a call is answered: what clients have changed with SQL is then in the store. */
  refresh(path: string): Promise<void>;
  /** Takes a connection over for the WebSocket at `/v2`. */
  upgrade(incoming: IncomingMessage, socket: Duplex, head: Buffer, url: URL): void;
}

/** Serves the service over HTTP. Rejects with the system's error if it cannot listen. */
export async function listen(service: Answering, address: ListenOptions, sql?: SqlAccess): Promise<Listening> {
  const { host, port, requestTimeoutMs = defaultRequestTimeoutMs } = address;
  const options = {
    keepAliveTimeout: keepAliveMs,
    requestTimeout: requestTimeoutMs,
    headersTimeout: requestTimeoutMs,
    connectionsCheckingInterval: requestTimeoutMs / 10,
  };
  const server = createServer(options, (incoming, outgoing) => {
    answer(service, incoming, outgoing, sql).catch((error: unknown) => {
      // A client that went away in the middle of its request waits for no answer.
      if (!outgoing.destroyed) send(outgoing, service.internalError(error));
    });
  });
  if (sql) server.on("upgrade", (incoming, socket, head) => upgrade(sql, incoming, socket, head));
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, resolve);
  });
  return {
    port: portOf(server.address()) ?? port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function portOf(address: AddressInfo | string | null): number | undefined {
  return typeof address === "object" ? address?.port : undefined;
}

/** Hands a request to the service's core and sends the answer, or loses it where a fault says so. */
async function answer(
  service: Answering,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  sqlAccess: SqlAccess | undefined,
): Promise<void> {
  const url = urlOf(incoming);
  if (url === null) return send(outgoing, badTarget);
  const access = url.pathname === "/sql" ? sqlAccess : undefined;
  if (access && incoming.method === "OPTIONS") return send(outgoing, preflight);
  const sql = incoming.method === "POST" ? access : undefined;
  const longest = sql?.longestBody ?? maxBodyBytes;
  const body = await bodyOf(incoming, longest);
  if (body === undefined) {
    const tooLarge = refusal(413, `the request body is larger than ${longest} bytes`);
    send(outgoing, sql ? forAnySite(tooLarge) : tooLarge);
    await elapsed(service, lingerMs);
    if (!incoming.complete) incoming.destroy();
    return;
  }
  const call = callOf(incoming, url, body);
  if (sql) return send(outgoing, forAnySite(await sql.answer(call, goneSignal(outgoing))));
  await sqlAccess?.refresh(call.path);
  const exchange = service.exchange(call);
  if (exchange.delayMs > 0) await elapsed(service, exchange.delayMs);
  carryOut(
    "reply" in exchange && exchange.reply.later ? { ...exchange, reply: await exchange.reply.later } : exchange,
    outgoing,
  );
}

function forAnySite(reply: ServiceReply): ServiceReply {
  return { ...reply, headers: { ...reply.headers, ...anySite } };
}

/** Aborts when the client leaves before it has its answer. */
function goneSignal(outgoing: ServerResponse): AbortSignal {
  const gone = new AbortController();
  outgoing.once("close", () => gone.abort());
  return gone.signal;
}

function upgrade(sql: SqlAccess, incoming: IncomingMessage, socket: Duplex, head: Buffer): void {
  const url = urlOf(incoming);
  socket.on("error", () => socket.destroy());
  if (url?.pathname === "/v2") sql.upgrade(incoming, socket, head, url);
  else socket.end("HTTP/1.1 404 Not Found\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
}

function carryOut(exchange: Exchange, outgoing: ServerResponse): void {
  switch (exchange.kind) {
    case "answer":
      return send(outgoing, exchange.reply);
    case "cut":
      return cut(outgoing, exchange.reply);
    case "stream":
      return stream(outgoing, exchange.open);
    case "dropped":
      outgoing.destroy();
  }
}

/** The URL that was asked for; `null` if it is none. A proxy sends it whole, other clients its path. */
function urlOf({ url = "" }: IncomingMessage): URL | null {
  return URL.parse(url.startsWith("/") ? `http://localhost${url}` : url);
}

/**
 * The whole request body, empty if there is none; `undefined` as soon as it is known to be too long: the rest is not
 * kept. Rejects if it is cut off.
 */
function bodyOf(incoming: IncomingMessage, longest: number): Promise<string | undefined> {
  if (Number(incoming.headers["content-length"] ?? 0) > longest) return Promise.resolve(undefined);
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const read = (chunk: Buffer) => {
      length += chunk.length;
      if (length <= longest) {
        chunks.push(chunk);
        return;
      }
      incoming.off("data", read);
      resolve(undefined);
    };
    incoming.on("data", read);
    incoming.once("end", () => resolve(Buffer.concat(chunks).toString("utf8")));
    incoming.once("error", reject);
  });
}

function callOf({ method = "GET", headers, socket }: IncomingMessage, url: URL, body: string): ServiceCall {
  const head = method === "HEAD";
  return {
    method: head ? "GET" : method,
    head,
    path: url.pathname,
    // Of a parameter that is given twice, the first value counts.
    query: Object.fromEntries([...url.searchParams].toReversed()),
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)])),
    body,
    ...(socket.remoteAddress !== undefined && { remote: socket.remoteAddress }),
  };
}

function send(outgoing: ServerResponse, { status, headers, body }: ServiceReply): void {
  const length = body === undefined ? {} : { "content-length": Buffer.byteLength(body) };
  outgoing.writeHead(status, { ...headers, ...length }).end(body);
}

/** Sends events as they come. To a client that is too slow only the newest of those that wait is sent. */
function stream(outgoing: ServerResponse, open: EventStream): void {
  let waiting: string | undefined;
  outgoing.writeHead(200, {
    "content-type": "text/event-stream",
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
  });
  outgoing.flushHeaders();
  const close = open({
    send(event) {
      if (outgoing.writableNeedDrain) waiting = event;
      else outgoing.write(event);
    },
    end() {
      outgoing.end();
    },
  });
  outgoing.on("drain", () => {
    if (waiting !== undefined) outgoing.write(waiting);
    waiting = undefined;
  });
  outgoing.once("close", close);
}

/** Sends half of what the headers promise, then ends the connection. */
function cut(outgoing: ServerResponse, { status, headers, body = "" }: ServiceReply): void {
  const bytes = Buffer.from(body);
  outgoing.writeHead(status, { ...headers, "content-length": bytes.length });
  outgoing.write(bytes.subarray(0, Math.floor(bytes.length / 2)), () => outgoing.destroy());
}

function elapsed({ context }: Answering, ms: number): Promise<void> {
  return new Promise((resolve) => {
    context.clock.after(ms, resolve);
  });
}

const badTarget = refusal(400, "the request has no valid URL");

function refusal(status: number, message: string): ServiceReply {
  return jsonReply(status, { request_id: "", code: "", message });
}
