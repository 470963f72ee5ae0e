import { once } from "node:events";
import { connect, type Socket } from "node:net";
import type { ListeningShop } from "./listening.ts";

/** A raw connection to the shop: what has come back so far, and whether it has ended. */
export class Wire {
  readonly socket: Socket;
  received = "";
  readonly ended: Promise<unknown>;

  constructor(shop: ListeningShop, localAddress?: string) {
    const { hostname, port } = new URL(shop.baseURL);
    this.socket = connect({ port: Number(port), host: hostname, ...(localAddress !== undefined && { localAddress }) });
    this.socket.on("data", (data) => {
      this.received += data.toString("utf8");
    });
    // A connection that the service cuts while we write ends with an error here.
    this.socket.on("error", () => {});
    this.ended = new Promise((resolve) => this.socket.once("close", resolve));
  }

  send(text: string): void {
    this.socket.write(text);
  }

  /** Resolves when an answer has begun. */
  async answer(): Promise<string> {
    while (!this.received.includes("\r\n\r\n")) await once(this.socket, "data");
    return this.received;
  }
}
