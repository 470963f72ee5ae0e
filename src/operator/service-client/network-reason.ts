/** OpenSSL's codes for a certificate that no trusted authority has signed. */
const untrusted = new Set([
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "CERT_SIGNATURE_FAILURE",
]);

/** The reason of a network error in a few words; nothing of the request, whose headers hold the key. */
export function reasonOf(error: unknown, caBundle?: string): string {
  if (!(error instanceof Error)) return "no answer";
  if (error.name === "TimeoutError") return "no answer in time";
  const proxy = /^Proxy response \((\d+)\)/.exec(error.message);
  if (proxy !== null) return `the proxy answered HTTP ${proxy[1]}`;
  if (error.name === "AbortError") return "aborted";
  const code = "code" in error && typeof error.code === "string" ? error.code : undefined;
  if (code !== undefined && untrusted.has(code)) {
    return caBundle === undefined
      ? `${code}: the service's certificate is signed by an authority that is not trusted: put that authority's certificate into spec.caBundle of the ServiceConnection`
      : `${code}: the service's certificate is signed by another authority than spec.caBundle of the ServiceConnection holds`;
  }
  if (error instanceof AggregateError) return code ?? "cannot connect";
  return code === undefined || error.message.includes(code) ? error.message : `${code}: ${error.message}`;
}
