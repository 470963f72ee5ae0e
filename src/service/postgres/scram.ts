import { createHash, createHmac, pbkdf2Sync } from "node:crypto";

const iterations = 4096;

function saltedPassword(password: string, salt: Buffer, rounds: number): Buffer {
  return pbkdf2Sync(password.normalize("NFKC"), salt, rounds, 32, "sha256");
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac("sha256", key).update(text).digest();
}

function sha256(data: Buffer): Buffer {
  return createHash("sha256").update(data).digest();
}

/** What the server keeps of a password: with it nobody can log in. */
export function scramVerifier(password: string, salt: Buffer): string {
  const salted = saltedPassword(password, salt, iterations);
  const storedKey = sha256(hmac(salted, "Client Key")).toString("base64");
  const serverKey = hmac(salted, "Server Key").toString("base64");
  return `SCRAM-SHA-256$${iterations}:${salt.toString("base64")}$${storedKey}:${serverKey}`;
}

/** One login by SCRAM-SHA-256 (RFC 5802), of the client's side. */
export class ScramLogin {
  readonly first: string;
  readonly #bare: string;
  readonly #password: string;

  constructor(password: string, nonce: string) {
    this.#password = password;
    this.#bare = `n=*,r=${nonce}`;
    this.first = `n,,${this.#bare}`;
  }

  /** The answer to the server's challenge. */
  final(challenge: string): string {
    const {
      r: nonce = "",
      s: salt = "",
      i: rounds = "",
    } = Object.fromEntries(challenge.split(",").map((part) => [part.slice(0, 1), part.slice(2)]));
    const salted = saltedPassword(this.#password, Buffer.from(salt, "base64"), Number(rounds));
    const clientKey = hmac(salted, "Client Key");
    const withoutProof = `c=biws,r=${nonce}`;
    const signature = hmac(sha256(clientKey), `${this.#bare},${challenge},${withoutProof}`);
    const proof = Buffer.from(clientKey.map((byte, index) => byte ^ (signature[index] ?? 0)));
    return `${withoutProof},p=${proof.toString("base64")}`;
  }
}
