import { randomBytes } from "node:crypto";
import { createConnection, createServer, type Server, type Socket } from "node:net";
import { createSecureContext, type SecureContext, TLSSocket } from "node:tls";
import type { ServiceClock } from "../../clock.ts";
import { superuser } from "../config.ts";
import type { Certificate } from "./certificate.ts";
import { Greeting } from "./greeting.ts";
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
  readonly #clients = new Set<Socket>();
  /** By our key as text: where a cancelled query runs, and the server's own key. */
  readonly #keys = new Map<string, { socket: string; key: Buffer }>();

  constructor(ports: ProxyPorts) {
    this.#ports = ports;
    this.#secure = createSecureContext({ cert: ports.certificate.certificate, key: ports.certificate.key });
    this.#server = createServer((socket) => {
      socket.setNoDelay(true);
      socket.setKeepAlive(true, keepAliveMs);
      this.#clients.add(socket);
      socket.once("close", () => this.#clients.delete(socket));
      socket.on("error", () => socket.destroy());
      void this.#serve(socket);
    });
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

  async #serve(raw: Socket): Promise<void> {
    let client = raw;
    try {
      const opened = await this.#open(raw);
      client = opened.client;
      const { opening, rest } = opened;
      if (opening.kind === "cancel") {
        await this.#cancel(opening.key);
        client.end();
      } else if (opening.kind === "startup") {
        if (opening.parameters.get("user") === superuser) {
          throw new Rejection("28000", `role "${superuser}" is not permitted to log in`);
        }
        await this.#join(client, route(opening.parameters, opened.serverName), opening.version, rest);
      }
    } catch (error) {
      if (!(error instanceof Rejection)) this.#ports.onError(error);
      const rejection = error instanceof Rejection ? error : new Rejection("XX000", "internal error of the proxy");
      if (!client.destroyed) client.end(errorResponse(rejection));
    }
  }

  /** Reads up to what the client wants, and begins TLS where it asks for that. Throws `Rejection`. */
  async #open(raw: Socket): Promise<Opened> {
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

  #secured(raw: Socket, names: string[]): Socket {
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

  async #join(client: Socket, { target, parameters }: Routed, version: number, rest: Buffer): Promise<void> {
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
    server.on("error", () => server.destroy());
    server.once("close", () => {
      this.#keys.delete(name);
      client.end();
      admission.leave();
    });
    server.write(startupPacket(version, parameters));
    if (rest.length > 0) server.write(rest);
    server.on("data", (chunk) => {
      if (client.destroyed) return;
      if (client.write(greeting.push(chunk))) return;
      server.pause();
      client.once("drain", () => server.resume());
    });
    client.pipe(server);
    // A server process whose client has left ends its query first, and counts until then.
    client.once("close", () => {
      server.resume();
      server.end();
    });
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

interface Opened {
  client: Socket;
  opening: Extract<Opening, { kind: "cancel" | "startup" }>;
  serverName: string | undefined;
  rest: Buffer;
}

/** What the client sends next. Rejects when it leaves. */
function nextChunk(client: Socket): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      client.off("data", onData);
      client.off("close", onClose);
      client.pause();
    };
    const onData = (chunk: Buffer) => {
      stop();
      resolve(chunk);
    };
    const onClose = () => {
      stop();
      reject(new Rejection("08006", "the client left"));
    };
    client.on("data", onData);
    client.once("close", onClose);
    client.resume();
  });
}
