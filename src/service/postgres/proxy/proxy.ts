import { constants, X509Certificate } from "node:crypto";
import { createServer, type Server } from "node:net";
import type { Duplex } from "node:stream";
import { createSecureContext, type SecureContext } from "node:tls";
import { limited, type ServiceClock } from "../../clock.ts";
import { mostConnections } from "../../sharing/most-connections.ts";
import { networkOf, Shares } from "../../sharing/shares.ts";
import { closeWith, listenOn, takeIn } from "../../sharing/take-in.ts";
import { Turns } from "../../sharing/turns.ts";
import { Uses } from "../../sharing/uses.ts";
import { requestCancel } from "../session/cancel-request.ts";
import { errorResponse, Rejection } from "../session/rejection.ts";
import { sha256 } from "../session/scram.ts";
import type { Admission } from "./admission.ts";
import type { Certificate } from "./certificate.ts";
import { endClient } from "./end-client.ts";
import { firstProtocol } from "./first-protocol.ts";
import { type CancelKeys, join } from "./join.ts";
import { askPassword, authenticate, keyOf, type LoggedIn } from "./login.ts";
import { open } from "./open.ts";
import { namesCompute, type Routed, route, routeByPassword, type Target } from "./route.ts";
import { cancelPacket, type Opening } from "./startup.ts";

export type { Target } from "./route.ts";

export interface ProxyPorts {
  clock: ServiceClock;
  certificate: Certificate;
  /** Resolves when the compute's server is up. Rejects with `Rejection`. */
  admit(target: Target): Promise<Admission>;
  onError(error: unknown): void;
  /** The budget of connections that have not logged in, by address. */
  logins?: Shares;
}

/**
 * Connections that have not logged in, and their part of the files; an address may have as many as are free, so one
 * alone gets half of them.
 */
const most = { logins: 8192, partOfFiles: 1 / 4 };

const tooManyLogins = errorResponse(
  new Rejection("53300", "too many connections of your address have not logged in yet: try again"),
);

/**
 * As Postgres does: no new handshake within a connection, which costs the client nothing (of TLS 1.2; 1.3 has none),
 * and no session that a later connection resumes, whose server name would not be known.
 */
const secureOptions = constants.SSL_OP_NO_RENEGOTIATION | constants.SSL_OP_NO_TICKET;

/** Time for which a client may take to say what it wants, and then to log in, in milliseconds. */
const patienceMs = 30_000;

/** One listener for all computes: finds the one that a client means, has the client log in, and carries bytes. */
export class Proxy {
  readonly #ports: ProxyPorts;
  readonly #secure: SecureContext;
  /** The hash of the certificate (`tls-server-end-point`), to which clients bind their logins. */
  readonly #binding: Buffer;
  readonly #server: Server;
  readonly #clients = new Set<Duplex>();
  readonly #keys: CancelKeys = new Map();
  /** Requests to end a query, by the key that they name. */
  readonly #cancels = { asked: new Uses(), turns: new Turns() };

  constructor(ports: ProxyPorts) {
    this.#ports = ports;
    const { certificate, key } = ports.certificate;
    this.#secure = createSecureContext({ cert: certificate, key, secureOptions });
    this.#binding = sha256(new X509Certificate(certificate).raw);
    const { logins = new Shares(mostConnections(most.logins, most.partOfFiles)) } = ports;
    this.#server = createServer((socket) => {
      socket.setNoDelay(true);
      const login = takeIn(socket, logins, tooManyLogins);
      if (!login) return;
      const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
      const release = () => login.release();
      const served = this.#serve(socket, { from: networkOf(socket.remoteAddress), onLogin: release });
      // A client that has left may still wait for its compute.
      void Promise.all([served, closed]).then(release);
    });
  }

  /** Serves a client behind a WebSocket to this host: such clients send their password at once, and in clear. */
  serveWebSocket(stream: Duplex, host: string | undefined, from: string, release = () => {}): void {
    void this.#serve(stream, { webSocket: { serverName: host }, from, onLogin: release }).finally(release);
  }

  /** Number of connected clients, let in or not. */
  get clients(): number {
    return this.#clients.size;
  }

  /** Resolves with the port. */
  listen(port: number, host: string): Promise<number> {
    return listenOn(this.#server, port, host);
  }

  /** Takes no more clients, and resolves when those there were are gone. */
  close(): Promise<void> {
    return closeWith(this.#server, this.#clients);
  }

  async #serve(raw: Duplex, { webSocket, from, onLogin }: Channel): Promise<void> {
    this.#clients.add(raw);
    raw.once("close", () => this.#clients.delete(raw));
    raw.on("error", () => raw.destroy());
    let client = raw;
    try {
      const onTls = (secured: Duplex) => {
        client = secured;
      };
      const opened = await this.#patiently(raw, open(raw, this.#secure, onTls));
      const { opening, secure, rest } = opened;
      if (opening.kind === "cancel") {
        await this.#cancel(opening.key);
        endClient(client, this.#ports.clock);
      } else {
        const serverName = opened.serverName ?? webSocket?.serverName;
        const isWebSocket = webSocket !== undefined;
        await this.#welcome({ client, rest, secure, serverName, webSocket: isWebSocket, from, onLogin }, opening);
      }
    } catch (error) {
      if (!(error instanceof Rejection)) this.#ports.onError(error);
      const rejection = error instanceof Rejection ? error : new Rejection("XX000", "internal error of the proxy");
      endClient(client, this.#ports.clock, errorResponse(rejection));
    }
  }

  /**
   * Finds the compute that a client means, and has the client log in. The password is asked for in clear over
   * WebSockets, and over TLS from a client that names its compute nowhere else; otherwise the client proves it.
   */
  async #welcome(arrived: Arrived, { parameters, version }: Startup): Promise<void> {
    const { client, rest, secure, serverName } = arrived;
    const named = namesCompute(parameters, serverName);
    const role = parameters.get("user") ?? "";
    if (!arrived.webSocket && (named || !secure)) {
      const binding = secure ? this.#binding : undefined;
      return this.#admit(arrived, route(parameters, serverName), version, async (admission) =>
        authenticate(client, rest, { role, verifier: await admission.verifierOf(role), binding }),
      );
    }
    const asked = await this.#patiently(client, askPassword(client, rest));
    const { routed, password } = named
      ? { routed: route(parameters, serverName), password: asked.password }
      : routeByPassword(parameters, asked.password);
    return this.#admit(arrived, routed, version, async (admission) => ({
      secret: { clientKey: await keyOf({ password, role, isGone: () => client.destroyed }, admission) },
      rest: asked.rest,
    }));
  }

  async #admit(
    { client, from, onLogin }: Arrived,
    { target, parameters }: Routed,
    version: number,
    logIn: (admission: Admission) => Promise<LoggedIn>,
  ): Promise<void> {
    const admission = await this.#ports.admit({ ...target, from });
    let loggedIn: LoggedIn;
    let socket: string;
    try {
      loggedIn = await this.#patiently(client, logIn(admission));
      socket = await admission.socket(parameters.get("database") ?? "");
      if (client.destroyed) throw new Rejection("08006", "the connection was closed");
      admission.enter();
      onLogin();
    } catch (error) {
      admission.leave();
      throw error;
    }
    const protocol = target.pooled ? firstProtocol(version, parameters) : { version, parameters };
    await join(client, loggedIn, { admission, socket, ...protocol, keys: this.#keys, clock: this.#ports.clock });
  }

  /** Gives up on a client that takes too long. */
  #patiently<Result>(client: Duplex, step: Promise<Result>): Promise<Result> {
    return limited(this.#ports.clock, patienceMs, () => client.destroy(), step);
  }

  /**
   * Passes a request to end a query on. Each is a connection to the server, also when its client has left: of one key
   * one is under way and one waits, which stands for all that come meanwhile.
   */
  async #cancel(key: Buffer): Promise<void> {
    const name = key.toString("hex");
    const { asked, turns } = this.#cancels;
    const meant = this.#keys.get(name);
    if (!meant || asked.count(name) > 1) return;
    await asked.during(name, () => turns.take(name, () => requestCancel(meant.socket, cancelPacket(meant.key))));
  }
}

/** The way on which a client comes. */
interface Channel {
  /** Present for a client behind a WebSocket. */
  webSocket?: { serverName: string | undefined };
  /** The network of the client. */
  from: string;
  onLogin: () => void;
}

interface Arrived {
  client: Duplex;
  /** Bytes that the client has sent beyond its startup packet. */
  rest: Buffer;
  /** True if the client began TLS. */
  secure: boolean;
  serverName: string | undefined;
  webSocket: boolean;
  /** The network of the client. */
  from: string;
  onLogin: () => void;
}

type Startup = Extract<Opening, { kind: "startup" }>;
