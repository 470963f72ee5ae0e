import { throughOf } from "../resources/through.ts";
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

/** Names base URL and key of an account, without giving the key away. */
export function accountThrough({ baseURL, key }: Account): string {
  return throughOf(baseURL, key.fingerprint());
}
