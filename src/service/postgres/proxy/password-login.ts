import { randomBytes } from "node:crypto";
import type { Duplex } from "node:stream";
import { serialize } from "pg-protocol/dist/index.js";
import { ScramLogin } from "../scram.ts";
import { MessageReader } from "./message-reader.ts";
import { Rejection } from "./rejection.ts";

/** AuthenticationCleartextPassword. */
const passwordWanted = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 3]);

/** The longest password message, in bytes: Postgres's own limit. */
const longestMessage = 65_535;

/** Asks a client for its password; answers it, and what the client has sent beyond. Rejects with `Rejection`. */
export async function askPassword(client: Duplex, received: Buffer): Promise<{ password: string; rest: Buffer }> {
  client.write(passwordWanted);
  const reader = new MessageReader(client, received);
  const { type, body } = await reader.next(longestMessage);
  if (type !== "p") throw new Rejection("08P01", "expected a password");
  return { password: body.toString("utf8").replace(/\0$/, ""), rest: reader.rest };
}

/**
 * Logs in to a server with SCRAM-SHA-256 in place of a client. Answers what the client is to be sent: what the server
 * says from the end of the login on, or its refusal.
 */
export async function logIn(server: Duplex, password: string): Promise<Buffer> {
  const login = new ScramLogin(password, randomBytes(18).toString("base64"));
  const reader = new MessageReader(server, Buffer.alloc(0));
  for (;;) {
    const { type, body, whole } = await reader.next(longestMessage);
    const step = type === "R" && body.length >= 4 ? body.readUInt32BE(0) : 0;
    if (step === steps.start) {
      server.write(serialize.sendSASLInitialResponseMessage("SCRAM-SHA-256", login.first));
    } else if (step === steps.challenge) {
      server.write(serialize.sendSCRAMClientFinalMessage(login.final(body.subarray(4).toString("utf8"))));
    } else if (step !== steps.end) {
      return Buffer.concat([whole, reader.rest]);
    }
  }
}

const steps = { start: 10, challenge: 11, end: 12 } as const;
