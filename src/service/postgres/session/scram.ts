import { createHmac, hash, pbkdf2, randomBytes } from "node:crypto";
import { promisify } from "node:util";
import { Rejection } from "./rejection.ts";
import { prepared } from "./saslprep.ts";

const iterations = 4096;

/** A role may give its verifier any number of iterations, which this process would carry out for its logins. */
const mostIterations = 20_000;

/** A server's record of a password: it can check a login with it, and nobody can log in with it. */
export interface ScramVerifier {
  iterations: number;
  salt: Buffer;
  storedKey: Buffer;
  serverKey: Buffer;
}

/** A role's verifier, and the number of the role; that is absent where there is none that could log in. */
export interface RoleVerifier extends ScramVerifier {
  oid?: string;
}

const derived = promisify(pbkdf2);

/** Some milliseconds of work, in a thread: strangers cause it with wrong passwords. */
function saltedPassword(password: string, salt: Buffer, rounds: number): Promise<Buffer> {
  return derived(prepared(password), salt, rounds, 32, "sha256");
}

export function hmac(key: Buffer, text: string): Buffer {
  return createHmac("sha256", key).update(text).digest();
}

export function sha256(data: Buffer): Buffer {
  return hash("sha256", data, "buffer");
}

export function xor(one: Buffer, other: Buffer): Buffer {
  return Buffer.from(one.map((byte, index) => byte ^ (other[index] ?? 0)));
}

/** The verifier of a password, as `pg_authid` holds it. */
export async function scramVerifier(password: string, salt = randomBytes(16)): Promise<string> {
  const salted = await saltedPassword(password, salt, iterations);
  const storedKey = sha256(hmac(salted, "Client Key"));
  return verifierText({ iterations, salt, storedKey, serverKey: hmac(salted, "Server Key") });
}

/** A verifier as `pg_authid` holds it. */
export function verifierText({ iterations: rounds, salt, storedKey, serverKey }: ScramVerifier): string {
  const [salted, stored, server] = [salt, storedKey, serverKey].map((part) => part.toString("base64"));
  return `SCRAM-SHA-256$${rounds}:${salted}$${stored}:${server}`;
}

/** Reads a verifier of `pg_authid`; `undefined` where it is none: a role may have no password, or an MD5 hash. */
export function parseVerifier(text: string | null | undefined): ScramVerifier | undefined {
  const [, rounds, salt, stored, server] =
    /^SCRAM-SHA-256\$(\d{1,9}):([\w+/=]+)\$([\w+/=]+):([\w+/=]+)$/.exec(text ?? "") ?? [];
  if (rounds === undefined || salt === undefined || stored === undefined || server === undefined) return undefined;
  const [salted, storedKey, serverKey] = [salt, stored, server].map((part) => Buffer.from(part, "base64"));
  if (salted === undefined || storedKey?.length !== 32 || serverKey?.length !== 32) return undefined;
  return { iterations: Number(rounds), salt: salted, storedKey, serverKey };
}

/** A verifier that no password fits, for a role that cannot log in: it has the same salt each time it is asked for. */
export function unfitVerifier(secret: string, role: string): ScramVerifier {
  const part = (purpose: string) => hmac(Buffer.from(secret), `${purpose} of ${role}`);
  return { iterations, salt: part("salt").subarray(0, 16), storedKey: part("stored"), serverKey: part("server") };
}

/** A client logs in with its password, or with the key that its password and the server's salt give. */
export type ScramSecret = { password: string } | { clientKey: Buffer };

/** One login by SCRAM-SHA-256 (RFC 5802), of the client's side. */
export class ScramLogin {
  readonly first: string;
  readonly #bare: string;
  readonly #secret: ScramSecret;

  constructor(secret: ScramSecret, nonce = randomBytes(18).toString("base64")) {
    this.#secret = secret;
    this.#bare = `n=*,r=${nonce}`;
    this.first = `n,,${this.#bare}`;
  }

  /** The answer to the server's challenge; `binding` stands for none (`n,,` in Base64). Rejects with `Rejection`. */
  async final(challenge: string, binding = "biws"): Promise<string> {
    const { r: nonce = "", s: salt = "", i: rounds = "" } = scramFields(challenge);
    const secret = this.#secret;
    if ("password" in secret && !(Number(rounds) <= mostIterations)) {
      throw new Rejection(
        "28000",
        `the role's password has ${rounds} SCRAM iterations, and this way to log in takes at most ${mostIterations}: set the password again with fewer`,
      );
    }
    const clientKey =
      "clientKey" in secret
        ? secret.clientKey
        : hmac(await saltedPassword(secret.password, Buffer.from(salt, "base64"), Number(rounds)), "Client Key");
    const withoutProof = `c=${binding},r=${nonce}`;
    const signature = hmac(sha256(clientKey), `${this.#bare},${challenge},${withoutProof}`);
    return `${withoutProof},p=${xor(clientKey, signature).toString("base64")}`;
  }
}

/** The attributes of a message of SCRAM. */
export function scramFields(message: string): Partial<Record<string, string>> {
  return Object.fromEntries(message.split(",").map((part) => [part.slice(0, 1), part.slice(2)]));
}
