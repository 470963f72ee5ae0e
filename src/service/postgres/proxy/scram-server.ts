import { timingSafeEqual } from "node:crypto";
import { Rejection } from "../session/rejection.ts";
import { hmac, type ScramVerifier, scramFields, sha256, xor } from "../session/scram.ts";

const withBinding = "SCRAM-SHA-256-PLUS";
const withoutBinding = "SCRAM-SHA-256";
const bindingType = "tls-server-end-point";

/**
 * One login by SCRAM-SHA-256 (RFC 5802, RFC 5929), of the server's side.
 *
 * client → `gs2-header,n=,r=NONCE` · server → `r=NONCE+OURS,s=SALT,i=N` · client → `c=BINDING,r=…,p=PROOF` ·
 * server → `v=SIGNATURE`. The proof gives the client's key, with which the proxy logs in to the real server.
 *
 * With a binding (the hash of the certificate of this TLS connection) a client that found another certificate, or that
 * was kept from seeing SCRAM-SHA-256-PLUS in the list, is refused: somebody stands between it and the proxy.
 */
export class ScramServer {
  readonly #verifier: ScramVerifier;
  readonly #nonce: string;
  readonly #binding: Buffer | undefined;
  #begun: { header: string; bare: string; challenge: string; bound: boolean } | undefined;

  constructor(verifier: ScramVerifier, nonce: string, binding: Buffer | undefined) {
    this.#verifier = verifier;
    this.#nonce = nonce;
    this.#binding = binding;
  }

  /** The best one first. */
  get mechanisms(): readonly string[] {
    return this.#binding ? [withBinding, withoutBinding] : [withoutBinding];
  }

  /** The challenge to a client's first message. Throws `Rejection`. */
  challenge(mechanism: string, first: string): string {
    if (!this.mechanisms.includes(mechanism)) {
      throw new Rejection("08P01", "client selected an invalid SASL authentication mechanism");
    }
    const [, header = "", flag = "", bare = ""] =
      /^((n|y|p=[\w.-]+),,)(n=[^,]*,r=[!-+\--~]+(?:,.*)?)$/.exec(first) ?? [];
    if (header === "") throw malformed();
    const bound = mechanism === withBinding;
    if (bound !== flag.startsWith("p=")) throw malformed();
    if (bound && flag !== `p=${bindingType}`) {
      throw new Rejection("08P01", `unsupported SCRAM channel-binding type ${JSON.stringify(flag.slice(2))}`);
    }
    if (flag === "y" && this.#binding) {
      throw new Rejection("28000", "SCRAM channel binding negotiation error: this server supports channel binding");
    }
    const { salt, iterations } = this.#verifier;
    const challenge = `r=${scramFields(bare)["r"]}${this.#nonce},s=${salt.toString("base64")},i=${iterations}`;
    this.#begun = { header, bare, challenge, bound };
    return challenge;
  }

  /**
   * The client's key and the last message to it; `undefined` where the password is wrong. Throws `Rejection` where the
   * channel is another one than the client believes, or the message is none.
   */
  finish(final: string): { clientKey: Buffer; last: string } | undefined {
    const begun = this.#begun;
    const [, withoutProof = "", proofText = ""] =
      /^(c=[\w+/=]+,r=[!-+\--~]+(?:,.*)?),p=([\w+/]{43}=)$/.exec(final) ?? [];
    if (!begun || withoutProof === "") throw malformed();
    const { c: binding = "", r: nonce } = scramFields(withoutProof);
    const wanted = Buffer.concat([Buffer.from(begun.header), ...(begun.bound && this.#binding ? [this.#binding] : [])]);
    if (binding !== wanted.toString("base64")) throw new Rejection("28000", "SCRAM channel binding check failed");
    if (nonce !== scramFields(begun.challenge)["r"]) throw malformed();
    const message = `${begun.bare},${begun.challenge},${withoutProof}`;
    const { storedKey, serverKey } = this.#verifier;
    const clientKey = xor(Buffer.from(proofText, "base64"), hmac(storedKey, message));
    if (!timingSafeEqual(sha256(clientKey), storedKey)) return undefined;
    return { clientKey, last: `v=${hmac(serverKey, message).toString("base64")}` };
  }
}

function malformed(): Rejection {
  return new Rejection("08P01", "malformed SCRAM message");
}
