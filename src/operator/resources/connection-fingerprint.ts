import { createHash } from "node:crypto";

/** Names a base URL and key in objects and marks, so that a change of either shows; gives neither away. */
export function connectionFingerprintOf(baseURL: string, keyFingerprint: string): string {
  return `${digest(baseURL, 8)}-${digest(keyFingerprint, 16)}`;
}

function digest(text: string, digits: number): string {
  return createHash("sha256").update(text).digest("hex").slice(0, digits);
}
