import { connectionFingerprintOf } from "../resources/connection-fingerprint.ts";
import { memoize } from "../runtime/memoize.ts";
import type { ApiKey } from "./api-key.ts";

/** Whom and where a client speaks for. */
export interface Account {
  /** Normalised, ends in `/api/v2`. */
  baseURL: string;
  key: ApiKey;
  caBundle?: string;
  /** Whose projects are listed, where a personal key needs it. */
  organizationID?: string;
}

/** Names base URL and key of an account, without giving the key away. Asked for on every reconcile of a Compute. */
export const accountFingerprint = memoize(({ baseURL, key }: Account) =>
  connectionFingerprintOf(baseURL, key.fingerprint()),
);
