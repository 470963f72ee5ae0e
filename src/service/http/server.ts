import { constants } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { ownerOf } from "../accounts/owner.ts";
import { elapsed, type ServiceClock } from "../clock.ts";
import { Refusal, refusals } from "../refusal.ts";
import type { Service } from "../service.ts";
import { endKeyChanges } from "../sharing/key-changes.ts";
import { mostConnections } from "../sharing/most-connections.ts";
import { type Holding, networkOf, Shares } from "../sharing/shares.ts";
import { closeWith, listenOn, takeIn } from "../sharing/take-in.ts";
import { endTinyPieces, longestBody, readBody } from "./body.ts";
import { sendEvents } from "./event-stream.ts";
import type { Exchange } from "./exchange.ts";
import { LongAnswers } from "./long-answers.ts";
import { type ServiceCall, type ServiceReply, tooManyConnections } from "./message.ts";
import { Pipelines, takeApart } from "./pipeline.ts";
import { forAnySite, preflight, type SqlAccess } from "./sql-access.ts";
import { urlOf } from "./target.ts";

/** Longest time for a request to arrive completely, in milliseconds; after that the answer is 408. */
const defaultRequestTimeoutMs = 30_000;

/** Longest time for which a client may take nothing of its answer, in milliseconds; after that it gets no more. */
const defaultAnswerTimeoutMs = 60_000;

/** Lifetime of an idle connection: longer than clients keep theirs, so that no client uses a closing one. */
const keepAliveMs = 65_000;

/** Connections in all, and their part of the files; an address may have as many as are free, so one alone gets half. */
const most = { connections: 16_384, partOfFiles: 1 / 2 };

/**
 * Time for which the rest of an oversized body is read and dropped, so that its sender reads the answer. In
 * milliseconds.
 */
const lingerMs = 500;

/** Bytes of a client that has not logged in to Postgres: Node reads so many of its body, or of what it sends ahead. */
const unreadBytes = 131_072;

/** A service that listens. */
export interface Listening {
  /** The port in use: the one asked for, or with 0 any free one. */
  port: number;
  /** Accepts no more requests, closes all connections and resolves when that is done. */
  close(): Promise<void>;
}

export interface ListenOptions {
  host: string;
  port: number;
  /** Longest time for a request to arrive, in milliseconds. */
  requestTimeoutMs?: number;
  /** Longest time for which a client may take nothing of its answer, in milliseconds. */
  answerTimeoutMs?: number;
  bytes?: Shares;
  /** The budget of connections, by address. */
  connections?: Shares;
  /** True if a proxy on this machine passes on the calls of others: the addresses of connections name no caller. */
  behindProxy?: boolean;
  /** Certificate and key in PEM, where the service speaks HTTPS and nothing else. */
  tls?: { certificate: string; key: string } | undefined;
}

/** The part of the service that answers requests. */
export type Answering = Pick<
  Service,
  "context" | "exchange" | "internalError" | "refused" | "bodyRoom" | "callerOf" | "reached"
>;

/** One request, and the parts that answer it. */
interface Request {
  service: Answering;
  sqlAccess: SqlAccess | undefined;
  bytes: Shares;
  long: LongAnswers;
  incoming: IncomingMessage;
  outgoing: ServerResponse;
  behindProxy: boolean;
}

/** Serves the service over HTTP. Rejects with the system's error if it cannot listen. */
export async function listen(service: Answering, address: ListenOptions, sql?: SqlAccess): Promise<Listening> {
  const { host, port, requestTimeoutMs = defaultRequestTimeoutMs, answerTimeoutMs = defaultAnswerTimeoutMs } = address;
  const { bytes = new Shares(), tls, behindProxy = false } = address;
  const { connections = new Shares(mostConnections(most.connections, most.partOfFiles)) } = address;
  const pipelines = new Pipelines(service.context.clock);
  const options = {
    keepAliveTimeout: keepAliveMs,
    requestTimeout: requestTimeoutMs,
    headersTimeout: requestTimeoutMs,
    handshakeTimeout: requestTimeoutMs,
    connectionsCheckingInterval: requestTimeoutMs / 10,
    // Node would answer past the line of the connection: `urlOf` refuses such a request.
    requireHostHeader: false,
    // Elsewhere a request that offers another protocol, as Java's client does with `h2c`, is answered in this one: also
    // behind another one, whose answer would come amid the other protocol.
    shouldUpgradeCallback: (incoming: IncomingMessage) =>
      sql !== undefined && urlOf(incoming)?.pathname === "/v2" && !pipelines.isBusy(incoming.socket),
  };
  const long = new LongAnswers(bytes, () => service.context.clock.now());
  const handle = (incoming: IncomingMessage, outgoing: ServerResponse) => {
    endTinyPieces(incoming);
    // The time of the service's clock, also where the answer has none of its own: Node would send that of the machine.
    outgoing.setHeader("date", new Date(service.context.clock.now()).toUTCString());
    outgoing.once("prefinish", () => outgoing.setTimeout(answerTimeoutMs));
    pipelines.take(incoming, outgoing, () => {
      answer({ service, sqlAccess: sql, bytes, long, incoming, outgoing, behindProxy }).catch((error: unknown) => {
        // A client that went away in the middle of its request, or was sent away, waits for no answer.
        if (!incoming.socket.destroyed) send(outgoing, service.internalError(error));
      });
    });
  };
  const server = tls
    ? createTlsServer(
        { ...options, cert: tls.certificate, key: tls.key, secureOptions: constants.SSL_OP_NO_RENEGOTIATION },
        handle,
      )
    : createServer(options, handle);
  // In line as well.
  server.on("checkExpectation", handle).on(tls ? "secureConnection" : "connection", takeApart);
  if (tls) server.on("secureConnection", endKeyChanges);
  if (sql) server.on("upgrade", (incoming, socket, head) => upgrade(sql, bytes, incoming, socket, head));
  const open = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    const taken = takeIn(socket, connections, tls ? undefined : tooManyConnections);
    if (!taken) return;
    open.add(socket);
    socket.once("close", () => {
      open.delete(socket);
      taken.release();
    });
  });
  // WebSockets are closed too, which the server has handed over: it would wait for their clients.
  return { port: await listenOn(server, port, host), close: () => closeWith(server, open) };
}

/** Hands a request to the service's core and sends the answer, or loses it where a fault says so. */
async function answer(request: Request): Promise<void> {
  const { service, sqlAccess, incoming, outgoing, behindProxy } = request;
  const url = urlOf(incoming);
  const call = callOf(incoming, url ?? nowhere, behindProxy);
  if (url === null) return sendBeforeEnd(request, service.refused(call, refusals.badTarget()));
  const access = call.path === "/sql" ? sqlAccess : undefined;
  if (access && call.method === "OPTIONS") return sendBeforeEnd(request, preflight(call));
  if (access && call.method === "POST") return answerSql(request, access, call);
  const exchange = await exchanged(request, call);
  if (exchange instanceof Refusal) return sendBeforeEnd(request, service.refused(call, exchange));
  if (exchange.delayMs > 0) await elapsed(service.context.clock, exchange.delayMs);
  carryOut(service.context.clock, exchange, outgoing);
}

/** Reads the body, keeping what the answer can depend on, and hands the call over. */
async function exchanged({ service, sqlAccess, bytes, long, incoming, outgoing }: Request, call: ServiceCall) {
  const { "content-length": length, "transfer-encoding": encoding } = incoming.headers;
  const hasBody = Number(length ?? 0) > 0 || encoding !== undefined;
  const room = hasBody ? service.bodyRoom(call) : undefined;
  const holding = room && bytes.of(room.holder);
  try {
    const body = await readBody(incoming, { holding, longest: room?.longest ?? longestBody });
    const reached = sqlAccess && service.reached(call);
    if (reached) await sqlAccess.refresh(reached);
    const caller = service.callerOf(call);
    const reads = call.method === "GET";
    return await long.make({ caller, outgoing, reads }, (turn) =>
      service.exchange({ ...call, body, gone: goneSignal(outgoing), turn }),
    );
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  } finally {
    holding?.release();
  }
}

async function answerSql(request: Request, sql: SqlAccess, call: ServiceCall): Promise<void> {
  const { service, bytes, long, incoming, outgoing } = request;
  const { headers = {} } = call;
  const gone = goneSignal(outgoing);
  const from = networkOf(call.remote);
  const unread = bytes.of(from);
  const holdings: Holding[] = [unread];
  let caller: string | undefined;
  const hold = (endpointId: string) => {
    unread.release();
    caller = ownerOf(service.context.store, endpointId);
    const holding = bytes.of(caller, service.context.clock);
    holdings.push(holding);
    return holding;
  };
  const release = () => holdings.forEach((holding) => holding.release());
  try {
    if (!unread.take(unreadBytes)) throw refusals.noRoomForBytes();
    const reply = await sql.answer({ headers, from, hold, body: (room) => readBody(incoming, room), gone });
    // An error has the words of a client, and may be long.
    const hasRoom = caller === undefined || long.count({ caller, outgoing }, reply.body);
    await sendBeforeEnd(request, forAnySite(hasRoom ? reply : service.refused(call, refusals.noRoomForBytes())));
  } catch (error) {
    // As above.
    if (incoming.socket.destroyed) return;
    const reply = error instanceof Refusal ? service.refused(call, error) : service.internalError(error);
    await sendBeforeEnd(request, forAnySite(reply));
  } finally {
    if (gone.aborted) release();
    else gone.addEventListener("abort", release);
  }
}

/** Sends an answer that need not wait for the end of the body, and lets the sender of the body read it. */
async function sendBeforeEnd({ service, incoming, outgoing }: Request, reply: ServiceReply): Promise<void> {
  if (incoming.complete) return send(outgoing, reply);
  // Node would drop it without an end.
  incoming.resume();
  send(outgoing, reply);
  await elapsed(service.context.clock, lingerMs);
  if (!incoming.complete) incoming.destroy();
}

/** Aborts when the client leaves before it has its answer, or has left. */
function goneSignal(outgoing: ServerResponse): AbortSignal {
  const gone = new AbortController();
  if (outgoing.destroyed) gone.abort();
  outgoing.once("close", () => gone.abort());
  return gone.signal;
}

function upgrade(sql: SqlAccess, bytes: Shares, incoming: IncomingMessage, socket: Duplex, head: Buffer): void {
  const url = urlOf(incoming);
  // Without a listener, the error would end the service. Of a broken TLS channel Node keeps all bytes that still come.
  socket.on("error", () => socket.destroy());
  const unread = bytes.of(networkOf(incoming.socket.remoteAddress));
  if (url && unread.take(unreadBytes)) sql.upgrade(incoming, socket, head, url, () => unread.release());
  else socket.write(tooManyConnections, () => socket.destroy());
}

function carryOut(clock: Pick<ServiceClock, "after">, exchange: Exchange, outgoing: ServerResponse): void {
  switch (exchange.kind) {
    case "answer":
      return send(outgoing, exchange.reply);
    case "cut":
      return cut(outgoing, exchange.reply);
    case "stream":
      return sendEvents(clock, outgoing, exchange.open);
    case "dropped":
      outgoing.destroy();
  }
}

/** The target of a request that has no valid one. */
const nowhere = { pathname: "", searchParams: new URLSearchParams() };

function callOf(
  incoming: IncomingMessage,
  url: Pick<URL, "pathname" | "searchParams">,
  behindProxy: boolean,
): ServiceCall {
  const { method = "GET", headers, socket, httpVersion } = incoming;
  const head = method === "HEAD";
  return {
    method: head ? "GET" : method,
    head,
    path: url.pathname,
    httpVersion,
    encrypted: "encrypted" in socket,
    // Of a parameter that is given twice, the first value counts.
    query: Object.fromEntries([...url.searchParams].toReversed()),
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)])),
    // The system no longer knows that of a client that has left: nothing may take the call for one of this machine.
    remote: (behindProxy ? undefined : socket.remoteAddress) ?? "",
  };
}

/** Cuts off an answer that has failed when its head was sent. */
function send(outgoing: ServerResponse, { status, headers, body, pieces }: ServiceReply): void {
  if (outgoing.headersSent) return void outgoing.destroy();
  const length =
    pieces?.reduce((sum, piece) => sum + piece.length, 0) ?? (body === undefined ? undefined : Buffer.byteLength(body));
  outgoing.writeHead(status, { ...headers, ...(length !== undefined && { "content-length": length }) });
  for (const piece of pieces ?? []) outgoing.write(piece);
  outgoing.end(body);
}

/** Sends half of what the headers promise, then ends the connection. */
function cut(outgoing: ServerResponse, { status, headers, body = "" }: ServiceReply): void {
  const bytes = Buffer.from(body);
  outgoing.writeHead(status, { ...headers, "content-length": bytes.length });
  outgoing.write(bytes.subarray(0, Math.floor(bytes.length / 2)), () => outgoing.destroy());
}
