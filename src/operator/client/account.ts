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

/** Asked for on every pass over a Compute; an account is never changed, only replaced. */
const named = new WeakMap<Account, string>();

/** Names base URL and key of an account, without giving the key away. */
export function accountThrough(account: Account): string {
  const known = named.get(account);
  if (known !== undefined) return known;
  const through = throughOf(account.baseURL, account.key.fingerprint());
  named.set(account, through);
  return through;
}
