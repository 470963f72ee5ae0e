import { randomBytes } from "node:crypto";
import type { Duplex } from "node:stream";
import { serialize } from "pg-protocol/dist/index.js";
import { message } from "../session/messages.ts";
import { Rejection } from "../session/rejection.ts";
import { ScramLogin, type ScramSecret, type ScramVerifier } from "../session/scram.ts";
import type { Admission } from "./admission.ts";
import { MessageReader } from "./message-reader.ts";
import { ScramServer } from "./scram-server.ts";

const passwordWanted = authentication(3);

/** The longest message of a login, in bytes: Postgres's own limit of a password message. */
const longestMessage = 65_535;

/** A login that has come to its end: with what the proxy logs in to the server, and what the client has sent beyond. */
export interface LoggedIn {
  secret: ScramSecret;
  rest: Buffer;
}

/** Asks a client for its password in clear; answers it with what was sent beyond. Rejects with `Rejection`. */
export async function askPassword(client: Duplex, received: Buffer): Promise<{ password: string; rest: Buffer }> {
  client.write(passwordWanted);
  const reader = new MessageReader(client, received);
  const { type, body } = await reader.next(longestMessage);
  if (type !== "p") throw new Rejection("08P01", "expected a password");
  return { password: body.toString("utf8").replace(/\0$/, ""), rest: reader.rest };
}

/**
 * The key of a password in clear that fits a role's verifier. Rejects with `Rejection` where it does not: neither the
 * server nor a pooler, which waits minutes for a database that is not there, sees a stranger.
 */
export function keyOf(
  { password, role, isGone }: Clear,
  admission: Pick<Admission, "inTurn" | "alone" | "verifierOf">,
) {
  return admission.inTurn(async () => {
    if (isGone()) throw new Rejection("08006", "the connection was closed");
    const verifier = await admission.verifierOf(role);
    return admission.alone(() => keyFor(password, { role, verifier }));
  });
}

/** A client that sends its password in clear, and whether it has left. */
export interface Clear {
  password: string;
  role: string;
  isGone: () => boolean;
}

async function keyFor(password: string, { role, verifier }: Pick<Claim, "role" | "verifier">): Promise<Buffer> {
  const nonce = randomBytes(18).toString("base64");
  const login = new ScramLogin({ password }, nonce);
  const scram = new ScramServer(verifier, nonce, undefined);
  const proven = scram.finish(await login.final(scram.challenge("SCRAM-SHA-256", login.first)));
  if (!proven) throw wrongPassword(role);
  return proven.clientKey;
}

function wrongPassword(role: string): Rejection {
  return new Rejection("28P01", `password authentication failed for user "${role}"`);
}

/** A client's claim to prove, and the channel of the proof. */
export interface Claim {
  role: string;
  verifier: ScramVerifier;
  /** The hash of the certificate of the client's TLS connection, where it has one. */
  binding: Buffer | undefined;
}

/** Has a client prove by SCRAM that it knows a role's password. Rejects with `Rejection`. */
export async function authenticate(client: Duplex, received: Buffer, claim: Claim): Promise<LoggedIn> {
  const scram = new ScramServer(claim.verifier, randomBytes(18).toString("base64"), claim.binding);
  const reader = new MessageReader(client, received);
  const answer = async () => {
    const { type, body } = await reader.next(longestMessage);
    if (type !== "p") throw new Rejection("08P01", "expected a SASL response");
    return body;
  };
  client.write(authentication(10, `${scram.mechanisms.join("\0")}\0\0`));
  const first = await answer();
  const nameEnd = first.indexOf(0);
  // The length of the client's message stands between its name and itself.
  if (nameEnd < 0 || first.length < nameEnd + 5) throw new Rejection("08P01", "malformed SASL response");
  const mechanism = first.toString("latin1", 0, nameEnd);
  client.write(authentication(11, scram.challenge(mechanism, first.toString("utf8", nameEnd + 5))));
  const proven = scram.finish((await answer()).toString("utf8"));
  if (!proven) throw wrongPassword(claim.role);
  client.write(authentication(12, proven.last));
  return { secret: { clientKey: proven.clientKey }, rest: reader.rest };
}

/**
 * Logs in to a server with SCRAM-SHA-256 in place of a client. Answers what the client is to be sent: what the server
 * says from the end of the login on, or its refusal.
 */
export async function logIn(server: Duplex, secret: ScramSecret): Promise<Buffer> {
  const login = new ScramLogin(secret);
  const reader = new MessageReader(server, Buffer.alloc(0));
  const before: Buffer[] = [];
  for (;;) {
    const { type, body, whole } = await reader.next(longestMessage).catch((error: unknown) => {
      throw unstarted(reader.rest) ?? error;
    });
    const step = type === "R" && body.length >= 4 ? body.readUInt32BE(0) : 0;
    // The version of the protocol that the server speaks: it says so before the login.
    if (type === "v") before.push(whole);
    else if (step === steps.start) {
      server.write(serialize.sendSASLInitialResponseMessage("SCRAM-SHA-256", login.first));
    } else if (step === steps.challenge) {
      server.write(serialize.sendSCRAMClientFinalMessage(await login.final(body.subarray(4).toString("utf8"))));
    } else if (step !== steps.end) {
      return Buffer.concat([...before, whole, reader.rest]);
    }
  }
}

/** Refusal by a server without a process for the session: it has a text where a message has its length. */
function unstarted(said: Buffer): Rejection | undefined {
  const [, text] = /^E(could not fork [^\0]*?)\n?\0/.exec(said.toString("latin1")) ?? [];
  return text === undefined ? undefined : new Rejection("53000", text);
}

const steps = { start: 10, challenge: 11, end: 12 } as const;

/** A request for authentication, of a kind, with its data. */
function authentication(kind: number, data = ""): Buffer {
  return message("R", `\0\0\0${String.fromCharCode(kind)}${data}`);
}
