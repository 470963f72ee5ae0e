import { createCipheriv, createHmac } from "node:crypto";
import { once } from "node:events";
import type { Socket } from "node:net";
import { duplexPair } from "node:stream";
import { connect } from "node:tls";

const contentTypes = { handshake: 22, application: 23 } as const;

/** The message of a client that changes its key (RFC 8446, 4.6.3). */
const keyUpdate = Buffer.from([24, 0, 0, 1, 0]);

/**
 * Begins TLS 1.3 on a connection, has the client change its key so many times, and then say something; answers what it
 * is told first, and nothing where the connection ends.
 */
export async function answerAfterKeyChanges(
  raw: Socket,
  servername: string,
  { changes, said }: { changes: number; said: Buffer },
): Promise<string> {
  const [socket, relayed] = duplexPair();
  let first = 0;
  // Before the client hears it, and answers at once.
  raw.once("data", () => (first = raw.bytesWritten));
  relayed.pipe(raw).pipe(relayed);
  raw.on("error", () => {});
  const suite = { ciphers: "TLS_AES_128_GCM_SHA256", minVersion: "TLSv1.3" } as const;
  const client = connect({ socket, servername, rejectUnauthorized: false, ...suite });
  client.on("error", () => {});
  const heard = new Promise<string>((resolve) => {
    client.once("data", (chunk: Buffer) => resolve(chunk.toString("latin1")));
    raw.once("close", () => resolve(""));
  });
  let secret = "";
  client.on(
    "keylog",
    (line: Buffer) => (secret ||= /^CLIENT_TRAFFIC_SECRET_0 \w+ (\w+)/.exec(String(line))?.[1] ?? ""),
  );
  await once(client, "secureConnect");
  // The end of the handshake goes before all that is sealed here.
  while (raw.bytesWritten === first) await new Promise((next) => setImmediate(next));
  const records = new Records(Buffer.from(secret, "hex"));
  raw.write(Buffer.concat([...Array.from({ length: changes }, () => records.keyChange()), records.content(said)]));
  return heard.finally(() => raw.destroy());
}

/** The records of a client of TLS 1.3 that has sent none yet. */
class Records {
  #secret: Buffer;
  #sent = 0;

  constructor(secret: Buffer) {
    this.#secret = secret;
  }

  keyChange(): Buffer {
    const record = this.#record(contentTypes.handshake, keyUpdate);
    this.#secret = this.#expanded("traffic upd", 32);
    this.#sent = 0;
    return record;
  }

  content(bytes: Buffer): Buffer {
    return this.#record(contentTypes.application, bytes);
  }

  #record(type: number, bytes: Buffer): Buffer {
    const nonce = this.#expanded("iv", 12);
    nonce.writeUInt32BE((nonce.readUInt32BE(8) ^ this.#sent) >>> 0, 8);
    this.#sent += 1;
    const cipher = createCipheriv("aes-128-gcm", this.#expanded("key", 16), nonce);
    const head = Buffer.from([contentTypes.application, 3, 3, 0, 0]);
    head.writeUInt16BE(bytes.length + 17, 3);
    cipher.setAAD(head);
    const sealed = [cipher.update(Buffer.concat([bytes, Buffer.from([type])])), cipher.final()];
    return Buffer.concat([head, ...sealed, cipher.getAuthTag()]);
  }

  /** HKDF-Expand-Label of no more than one hash (RFC 8446, 7.1). */
  #expanded(label: string, length: number): Buffer {
    const name = Buffer.from(`tls13 ${label}`);
    const info = Buffer.concat([Buffer.from([0, length, name.length]), name, Buffer.from([0, 1])]);
    return createHmac("sha256", this.#secret).update(info).digest().subarray(0, length);
  }
}
