import { fingerprintOf } from "../resources/fingerprint.ts";
import { digest } from "../resources/signature.ts";
import { memoize } from "../runtime/caches.ts";
import { Redacted } from "../runtime/redacted.ts";

/** The base URL and key of a client. */
export interface Account {
  /** Normalised, ends in `/api/v2`. */
  baseURL: string;
  key: ApiKey;
  caBundle?: string | undefined;
  /** The organization whose projects are listed, if a personal key needs one. */
  organizationID?: string | undefined;
}

/** The fingerprint of an account's base URL and key. Called on every reconcile of a Compute. */
export const accountFingerprint = memoize(({ baseURL, key }: Account) => fingerprintOf(baseURL, key.fingerprint()));

/** An API key of the service. */
export class ApiKey extends Redacted {
  readonly #secret: string;
  #fingerprint: string | undefined;

  constructor(secret: string) {
    super();
    this.#secret = secret;
  }

  /** The value of the Authorization header: the only way to read the key, for the network adapter alone. */
  authorization(): string {
    return `Bearer ${this.#secret}`;
  }

  /** A fingerprint of the key that does not reveal it: the first 16 hex digits of a salted SHA-256. */
  fingerprint(): string {
    this.#fingerprint ??= digest(`compute-operator:${this.#secret}`, 16);
    return this.#fingerprint;
  }

  /** The service's message without the key: some messages repeat the key that they refuse. */
  hiddenIn(text: string): string {
    return text.replaceAll(this.#secret, this.toString());
  }
}
