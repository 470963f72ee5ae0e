import { hash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { Duplex } from "node:stream";
import type { ServiceClock } from "../../clock.ts";
import { endClient } from "../proxy/end-client.ts";
import { BrokenFrame, FrameReader, frameHead, opcodes } from "./frames.ts";

type Timers = Pick<ServiceClock, "after">;

/** RFC 6455 gives it to every server. */
const magic = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/** Codes of a close. */
const codes = { normal: 1000, protocolError: 1002 } as const;

/** Answers a client's handshake; the content of the messages, or `undefined` where the request is none. */
export function acceptWebSocket(
  incoming: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  clock: Timers,
): Duplex | undefined {
  const { upgrade = "", "sec-websocket-key": key = "", "sec-websocket-version": version } = incoming.headers;
  // In HTTP/1.0 nothing takes a connection over: a proxy that speaks it would pass on no frame.
  const isHandshake =
    incoming.method === "GET" && incoming.httpVersion === "1.1" && upgrade.toLowerCase() === "websocket";
  if (!isHandshake || version !== "13" || !/^[+/0-9A-Za-z]{22}==$/.test(key)) {
    const refusal = "HTTP/1.1 400 Bad Request\r\nsec-websocket-version: 13\r\nconnection: close\r\ncontent-length: 0";
    endClient(socket, clock, Buffer.from(`${refusal}\r\n\r\n`));
    return undefined;
  }
  const accepted = hash("sha1", `${key}${magic}`, "base64");
  const lines = ["HTTP/1.1 101 Switching Protocols", "upgrade: websocket", "connection: Upgrade"];
  socket.write([...lines, `sec-websocket-accept: ${accepted}`, "", ""].join("\r\n"));
  if (head.length > 0) socket.unshift(head);
  incoming.socket.setTimeout(0);
  return new WebSocketStream(socket, clock);
}

/**
 * The content of a WebSocket's messages as a stream of bytes, both ways. Frames and messages of the client have no
 * meaning beyond their bytes, so none is held until it is complete: what is not taken stays with the client.
 */
class WebSocketStream extends Duplex {
  readonly #socket: Duplex;
  #isClosed = false;

  readonly #clock: Timers;

  constructor(socket: Duplex, clock: Timers) {
    // Destroyed with the connection alone: the client reads our last bytes first.
    super({ autoDestroy: false });
    this.#socket = socket;
    this.#clock = clock;
    const reader = new FrameReader({
      data: (piece) => {
        if (!this.#isClosed && !this.push(piece)) socket.pause();
      },
      // A client that takes nothing gets no answers either.
      ping: (content) => {
        if (!socket.writableNeedDrain) this.#send(opcodes.pong, content);
      },
      close: () => this.#end(codes.normal),
    });
    socket.on("data", (chunk: Buffer) => {
      try {
        reader.push(chunk);
      } catch (error) {
        if (!(error instanceof BrokenFrame)) throw error;
        this.#end(codes.protocolError);
      }
    });
    socket.on("error", () => this.destroy());
    socket.once("end", () => this.destroy());
    socket.once("close", () => this.destroy());
  }

  override _read(): void {
    this.#socket.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#socket.write(frameHead(opcodes.binary, chunk.length));
    this.#socket.write(chunk, done);
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#end(codes.normal);
    done();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#socket.destroy();
    done(error);
  }

  #send(opcode: number, content: Buffer): void {
    if (!this.#isClosed) this.#socket.write(Buffer.concat([frameHead(opcode, content.length), content]));
  }

  /** Sends the last frame, and ends the connection where the client does not. */
  #end(code: number): void {
    const content = Buffer.alloc(2);
    content.writeUInt16BE(code, 0);
    this.#isClosed = true;
    this.push(null);
    endClient(this.#socket, this.#clock, Buffer.concat([frameHead(opcodes.close, content.length), content]));
  }
}
