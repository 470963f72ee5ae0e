import type { Duplex } from "node:stream";
import { type SecureContext, TLSSocket } from "node:tls";
import { endKeyChanges } from "../../sharing/key-changes.ts";
import { Slices } from "../../sharing/slices.ts";
import { Rejection } from "../session/rejection.ts";
import { nextChunk } from "./next-chunk.ts";
import { type Opening, readOpening } from "./startup.ts";

/** A client's opening request, and its channel. */
export interface Opened {
  /** Over TLS where the client began it. */
  client: Duplex;
  secure: boolean;
  opening: Extract<Opening, { kind: "cancel" | "startup" }>;
  serverName: string | undefined;
  /** Bytes that the client has sent beyond. */
  rest: Buffer;
}

/**
 * Reads up to what the client wants, and begins TLS where it asks for that: `onTls` gets the channel, through which a
 * refusal must go from then on. Throws `Rejection`.
 */
export async function open(
  raw: Duplex,
  secureContext: SecureContext,
  onTls: (client: Duplex) => void = () => {},
): Promise<Opened> {
  let client = raw;
  const found = () => {
    const secure = client instanceof TLSSocket ? client : undefined;
    return { client, secure: secure !== undefined, serverName: secure?.servername || undefined };
  };
  let isRefusedGss = false;
  let received = Buffer.alloc(0);
  for (;;) {
    const opening = readOpening(received);
    switch (opening.kind) {
      case "incomplete":
        received = Buffer.concat([received, await nextChunk(client)]);
        break;
      case "tls":
        if (client !== raw) throw new Rejection("08P01", "TLS within TLS");
        raw.unshift(received);
        client = secured(raw, secureContext);
        onTls(client);
        received = Buffer.alloc(0);
        break;
      case "ssl-request":
        // Bytes from before the handshake were not protected: they must not count as if they were.
        if (client !== raw || received.length > opening.length) throw new Rejection("08P01", "bytes before TLS");
        raw.write("S");
        client = secured(raw, secureContext);
        onTls(client);
        received = Buffer.alloc(0);
        break;
      case "gss-request":
        if (received.length > opening.length) throw new Rejection("08P01", "bytes before GSS");
        if (isRefusedGss) throw new Rejection("08P01", "GSS encryption was refused already");
        isRefusedGss = true;
        client.write("N");
        received = Buffer.alloc(0);
        break;
      case "invalid":
        throw opening.rejection;
      case "cancel":
        return { ...found(), opening, rest: Buffer.alloc(0) };
      case "startup":
        return { ...found(), opening, rest: received.subarray(opening.length) };
    }
  }
}

function secured(raw: Duplex, secureContext: SecureContext): Duplex {
  const secure = new TLSSocket(new Slices(raw), { isServer: true, secureContext, ALPNProtocols: ["postgresql"] });
  // The connection below it closes too.
  secure.on("error", () => {});
  // After the handshake Node does no more than say that a channel is broken, and keeps all bytes that still come.
  secure.on("_tlsError", () => secure.destroy());
  endKeyChanges(secure);
  return secure;
}
