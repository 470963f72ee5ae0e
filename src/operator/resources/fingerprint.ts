import { digest } from "./signature.ts";

// A fingerprint names a base URL and a key in objects and marks, so that a change of either shows; it reveals neither.

export function fingerprintOf(baseURL: string, key: string): string {
  return `${digest(baseURL, 8)}-${digest(key, 16)}`;
}

/** True if a fingerprint is of this base URL, whatever the key. */
export function isOfService(fingerprint: string, baseURL: string): boolean {
  return serviceIn(fingerprint) === digest(baseURL, 8);
}

/** True if two fingerprints are of one base URL. */
export function areOfOneService(one: string, other: string): boolean {
  return serviceIn(one) === serviceIn(other);
}

function serviceIn(fingerprint: string): string | undefined {
  return fingerprint.split("-")[0];
}
