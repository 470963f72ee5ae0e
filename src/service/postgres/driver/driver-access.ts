import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { ServiceClock } from "../../clock.ts";
import type { ServiceReply } from "../../http/message.ts";
import type { Reached } from "../../http/reached.ts";
import type { SqlAccess, SqlCall } from "../../http/sql-access.ts";
import { networkOf } from "../../sharing/shares.ts";
import type { Admission } from "../proxy/admission.ts";
import type { Proxy } from "../proxy/proxy.ts";
import type { Target } from "../proxy/route.ts";
import { sqlOverHttp } from "./sql-over-http.ts";
import { acceptWebSocket } from "./web-socket.ts";

/** The part of the service's port that the vendor's serverless driver reaches: SQL over HTTP and over WebSockets. */
export class DriverAccess implements SqlAccess {
  readonly #clock: ServiceClock;
  readonly #proxy: Proxy;
  readonly #admit: (target: Target) => Promise<Admission>;
  readonly refresh: (reached: Reached) => Promise<void>;

  constructor(
    clock: ServiceClock,
    proxy: Proxy,
    admit: (target: Target) => Promise<Admission>,
    refresh: (reached: Reached) => Promise<void>,
  ) {
    this.#clock = clock;
    this.#proxy = proxy;
    this.refresh = refresh;
    this.#admit = admit;
  }

  answer(call: SqlCall): Promise<ServiceReply> {
    return sqlOverHttp(call, this.#admit);
  }

  /**
   * Carries the protocol of Postgres in the messages of a WebSocket. `?address=HOST:PORT` may name the compute; without
   * it the driver asks the compute's own host.
   */
  upgrade(incoming: IncomingMessage, socket: Duplex, head: Buffer, url: URL, release: () => void): void {
    const { host = "" } = incoming.headers;
    const from = networkOf(incoming.socket.remoteAddress);
    const address = url.searchParams.get("address") ?? (host.startsWith("ep-") ? host : undefined);
    const content = acceptWebSocket(incoming, socket, head, this.#clock);
    if (content) this.#proxy.serveWebSocket(content, address, from, release);
    else socket.once("close", release);
  }
}
