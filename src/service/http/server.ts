import type { AddressInfo } from "node:net";
import { createAdaptorServer, type HttpBindings } from "@hono/node-server";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import { type Context, Hono } from "hono";
import type { Service } from "../service.ts";
import type { EventStream } from "./exchange.ts";
import { jsonReply, type ServiceCall, type ServiceReply } from "./message.ts";

/** The longest request body that is read, in bytes. */
const maxBodyBytes = 1_000_000;

/** How long a request may take to come in whole, in milliseconds; then it is answered 408 and its connection ends. */
const defaultRequestTimeoutMs = 30_000;

/** How long a quiet connection stays open: longer than clients keep theirs, so that none writes into a closing one. */
const keepAliveMs = 65_000;

type Env = { Bindings: HttpBindings };

/** The HTTP application: carries requests to the service's core and answers back, or loses them as faults have it. */
export function createApp(service: Service): Hono<Env> {
  const app = new Hono<Env>();
  app.all("*", async (context) => {
    const body = await bodyOf(context);
    if (body === undefined) return responseOf(tooLarge);
    const exchange = service.exchange(callOf(context, body));
    if (exchange.delayMs > 0) await elapsed(service, exchange.delayMs);
    switch (exchange.kind) {
      case "answer":
        return responseOf(exchange.reply);
      case "cut":
        return cut(context, exchange.reply);
      case "stream":
        return new Response(bytesOf(exchange.open), { headers: eventHeaders });
      case "dropped":
        context.env.outgoing.destroy();
        return RESPONSE_ALREADY_SENT;
    }
  });
  app.onError((error, { env }) => {
    // A client that is gone in the middle of its request waits for no answer.
    if (env.outgoing.destroyed) return RESPONSE_ALREADY_SENT;
    return responseOf(service.internalError(error));
  });
  return app;
}

/** A service that listens. */
export interface Listening {
  /** The port that was taken: the one asked for, or with 0 any free one. */
  port: number;
  /** Takes no more requests, cuts those that are held back, and resolves when all connections are closed. */
  close(): Promise<void>;
}

/** Where to listen, and how long a request may take to come in, in milliseconds. */
export interface ListenOptions {
  host: string;
  port: number;
  requestTimeoutMs?: number;
}

/** Listens; rejects with what the system says where it cannot. */
export async function listen(app: Hono<Env>, address: ListenOptions): Promise<Listening> {
  const { host, port, requestTimeoutMs = defaultRequestTimeoutMs } = address;
  const server = createAdaptorServer({
    fetch: app.fetch,
    overrideGlobalObjects: false,
    serverOptions: {
      keepAliveTimeout: keepAliveMs,
      requestTimeout: requestTimeoutMs,
      headersTimeout: requestTimeoutMs,
      connectionsCheckingInterval: requestTimeoutMs / 10,
    },
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, resolve);
  });
  return {
    port: portOf(server.address()) ?? port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        if ("closeAllConnections" in server) server.closeAllConnections();
      }),
  };
}

function portOf(address: AddressInfo | string | null): number | undefined {
  return typeof address === "object" ? address?.port : undefined;
}

/**
 * The whole request body, empty where there is none; `undefined` as soon as it is known to be too long: the rest is not
 * kept. Rejects where it is cut off.
 */
function bodyOf({ env: { incoming } }: Context<Env>): Promise<string | undefined> {
  if (Number(incoming.headers["content-length"] ?? 0) > maxBodyBytes) return Promise.resolve(undefined);
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const read = (chunk: Buffer) => {
      length += chunk.length;
      if (length <= maxBodyBytes) {
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

function callOf({ req, env }: Context<Env>, body: string): ServiceCall {
  const remote = env.incoming.socket.remoteAddress;
  return {
    method: req.method === "HEAD" ? "GET" : req.method,
    head: req.method === "HEAD",
    path: new URL(req.url).pathname,
    query: req.query(),
    headers: req.header(),
    body,
    ...(remote !== undefined && { remote }),
  };
}

function responseOf({ status, headers, body }: ServiceReply): Response {
  return new Response(body ?? null, { status, headers: { ...headers } });
}

const eventHeaders = {
  "content-type": "text/event-stream",
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
};

/** The bytes of a stream of events. To a reader who is too slow only the newest of those that wait is sent. */
function bytesOf(open: EventStream): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let close = () => {};
  let waiting: string | undefined;
  return new ReadableStream({
    start(controller) {
      close = open({
        send(event) {
          if ((controller.desiredSize ?? 0) > 0) controller.enqueue(encoder.encode(event));
          else waiting = event;
        },
        end: () => controller.close(),
      });
    },
    pull(controller) {
      if (waiting === undefined) return;
      controller.enqueue(encoder.encode(waiting));
      waiting = undefined;
    },
    cancel: () => close(),
  });
}

/** Sends half of what the headers promise, then ends the connection. */
function cut(context: Context<Env>, { status, headers, body = "" }: ServiceReply): Response {
  const { outgoing } = context.env;
  const bytes = Buffer.from(body);
  outgoing.writeHead(status, { ...headers, "content-length": bytes.length });
  outgoing.write(bytes.subarray(0, Math.floor(bytes.length / 2)), () => outgoing.destroy());
  return RESPONSE_ALREADY_SENT;
}

function elapsed(service: Service, ms: number): Promise<void> {
  return new Promise((resolve) => {
    service.context.clock.after(ms, resolve);
  });
}

const tooLarge = jsonReply(413, {
  request_id: "",
  code: "",
  message: `the request body is larger than ${maxBodyBytes} bytes`,
});
