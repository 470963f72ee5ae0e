import { connectionFingerprintOf } from "../resources/connection-fingerprint.ts";
import { memoize } from "../runtime/memoize.ts";
import type { ApiKey } from "./api-key.ts";

/** The base URL and key of a client. */
export interface Account {
  /** Normalised, ends in `/api/v2`. */
  baseURL: string;
  key: ApiKey;
  caBundle?: string;
  /** The organization whose projects are listed, if a personal key needs one. */
  organizationID?: string;
}

/** The fingerprint of an account's base URL and key; reveals neither. Called on every reconcile of a Compute. */
export const accountFingerprint = memoize(({ baseURL, key }: Account) =>
  connectionFingerprintOf(baseURL, key.fingerprint()),
);
