import { randomBytes } from "node:crypto";
import { createConnection, createServer, type Server } from "node:net";
import type { Duplex } from "node:stream";
import { createSecureContext, type SecureContext, TLSSocket } from "node:tls";
import type { ServiceClock } from "../../clock.ts";
import type { Certificate } from "./certificate.ts";
import { DiskErrors } from "./disk-errors.ts";
import { Greeting } from "./greeting.ts";
import { nextChunk } from "./next-chunk.ts";
import { askPassword, logIn } from "./password-login.ts";
import { errorResponse, Rejection } from "./rejection.ts";
import { type Routed, route, type Target } from "./route.ts";
import { cancelPacket, type Opening, readOpening, startupPacket } from "./startup.ts";

export type { Target } from "./route.ts";

/** A client is let in. */
export interface Admission {
  /** The path of the socket of the compute's server. */
  socket: string;
  /** To be called once, when its server process has ended. */
  leave: () => void;
}

export interface ProxyPorts {
  clock: ServiceClock;
  certificate: Certificate;
  /** Resolves when the compute's server is up. Rejects with `Rejection`. */
  admit(target: Target): Promise<Admission>;
  onError(error: unknown): void;
}

/** How long a client may take to say what it wants, in milliseconds. */
const openingLimitMs = 30_000;

/** After how long without a word the system asks whether the other end is still there, in milliseconds. */
const keepAliveMs = 60_000;

/** One listener for all computes: finds the one that a client means, and carries bytes between it and its server. */
export class Proxy {
  readonly #ports: ProxyPorts;
  readonly #secure: SecureContext;
  readonly #server: Server;
  readonly #clients = new Set<Duplex>();
  /** By our key as text: where a cancelled query runs, and the server's own key. */
  readonly #keys = new Map<string, { socket: string; key: Buffer }>();

  constructor(ports: ProxyPorts) {
    this.#ports = ports;
    this.#secure = createSecureContext({ cert: ports.certificate.certificate, key: ports.certificate.key });
    this.#server = createServer((socket) => {
      socket.setNoDelay(true);
      socket.setKeepAlive(true, keepAliveMs);
      void this.#serve(socket);
    });
  }

  /** Serves a client behind a WebSocket to this host: such clients send their password at once, and in clear. */
  serveWebSocket(stream: Duplex, host: string | undefined): void {
    void this.#serve(stream, { serverName: host });
  }

  /** How many clients are connected, let in or not. */
  get clients(): number {
    return this.#clients.size;
  }

  /** Resolves with the port. */
  listen(port: number, host: string): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(port, host, () => {
        const address = this.#server.address();
        resolve(typeof address === "object" && address ? address.port : port);
      });
    });
  }

  /** Takes no more clients, and resolves when those there were are gone. */
  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
      for (const client of this.#clients) client.destroy();
    });
  }

  async #serve(raw: Duplex, webSocket?: { serverName: string | undefined }): Promise<void> {
    this.#clients.add(raw);
    raw.once("close", () => this.#clients.delete(raw));
    raw.on("error", () => raw.destroy());
    let client = raw;
    try {
      const opened = await this.#open(raw);
      client = opened.client;
      const { opening, rest } = opened;
      if (opening.kind === "cancel") {
        await this.#cancel(opening.key);
        client.end();
      } else {
        const routed = route(opening.parameters, opened.serverName ?? webSocket?.serverName);
        const asked = webSocket ? await askPassword(client, rest) : { password: undefined, rest };
        await this.#join({ client, ...asked }, routed, opening.version);
      }
    } catch (error) {
      if (!(error instanceof Rejection)) this.#ports.onError(error);
      const rejection = error instanceof Rejection ? error : new Rejection("XX000", "internal error of the proxy");
      if (!client.destroyed) client.end(errorResponse(rejection));
    }
  }

  /** Reads up to what the client wants, and begins TLS where it asks for that. Throws `Rejection`. */
  async #open(raw: Duplex): Promise<Opened> {
    const names: string[] = [];
    let client = raw;
    let received = Buffer.alloc(0);
    const stopTimer = this.#ports.clock.after(openingLimitMs, () => raw.destroy());
    try {
      for (;;) {
        const opening = readOpening(received);
        switch (opening.kind) {
          case "incomplete":
            received = Buffer.concat([received, await nextChunk(client)]);
            break;
          case "tls":
            if (client !== raw) throw new Rejection("08P01", "TLS within TLS");
            raw.unshift(received);
            client = this.#secured(raw, names);
            received = Buffer.alloc(0);
            break;
          case "ssl-request":
            // What came before the handshake was not protected: it must not count as if it were.
            if (client !== raw || received.length > opening.length) throw new Rejection("08P01", "bytes before TLS");
            raw.write("S");
            client = this.#secured(raw, names);
            received = Buffer.alloc(0);
            break;
          case "gss-request":
            if (received.length > opening.length) throw new Rejection("08P01", "bytes before GSS");
            client.write("N");
            received = Buffer.alloc(0);
            break;
          case "invalid":
            throw opening.rejection;
          case "cancel":
            return { client, opening, serverName: names[0], rest: Buffer.alloc(0) };
          case "startup":
            return { client, opening, serverName: names[0], rest: received.subarray(opening.length) };
        }
      }
    } finally {
      stopTimer();
    }
  }

  #secured(raw: Duplex, names: string[]): Duplex {
    const secure = new TLSSocket(raw, {
      isServer: true,
      secureContext: this.#secure,
      ALPNProtocols: ["postgresql"],
      SNICallback: (name, done) => {
        names.push(name);
        done(null, this.#secure);
      },
    });
    secure.on("error", () => raw.destroy());
    return secure;
  }

  async #join({ client, password, rest }: Joining, { target, parameters }: Routed, version: number): Promise<void> {
    client.pause();
    const admission = await this.#ports.admit(target);
    if (client.destroyed) {
      admission.leave();
      return;
    }
    const server = createConnection(admission.socket);
    const key = randomBytes(8);
    key.writeUInt32BE(key.readUInt32BE(0) >>> 1, 0);
    const name = key.toString("hex");
    const greeting = new Greeting(key, (own) => this.#keys.set(name, { socket: admission.socket, key: own }));
    const errors = new DiskErrors();
    const shown = (said: Buffer) => errors.push(greeting.push(said));
    server.on("error", () => server.destroy());
    server.once("close", () => {
      this.#keys.delete(name);
      client.end();
      admission.leave();
    });
    // A server process whose client has left ends its query first, and counts until then.
    client.once("close", () => {
      server.resume();
      server.end();
    });
    server.write(startupPacket(version, parameters));
    if (password !== undefined) client.write(shown(await logIn(server, password)));
    if (rest.length > 0) server.write(rest);
    forward(server, client, shown);
    forward(client, server);
    client.once("end", () => server.end());
  }

  async #cancel(key: Buffer): Promise<void> {
    const meant = this.#keys.get(key.toString("hex"));
    if (!meant) return;
    await new Promise<void>((resolve) => {
      const server = createConnection(meant.socket);
      server.on("error", () => server.destroy());
      server.once("close", () => resolve());
      server.end(cancelPacket(meant.key));
      server.resume();
    });
  }
}

/** A client about to be joined to its server; with a password, the proxy logs in for it. */
interface Joining {
  client: Duplex;
  password: string | undefined;
  /** What the client has sent beyond its login. */
  rest: Buffer;
}

interface Opened {
  client: Duplex;
  opening: Extract<Opening, { kind: "cancel" | "startup" }>;
  serverName: string | undefined;
  rest: Buffer;
}

/** Writes what comes from one end to the other, no faster than that takes it. */
function forward(from: Duplex, to: Duplex, changed = (chunk: Buffer) => chunk): void {
  from.on("data", (chunk: Buffer) => {
    if (to.writable && !to.write(changed(chunk))) from.pause();
  });
  to.on("drain", () => from.resume());
  from.resume();
}
