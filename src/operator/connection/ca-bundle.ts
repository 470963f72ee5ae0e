import { X509Certificate } from "node:crypto";
import type { ServiceConnection } from "../resources/service-connection.ts";

const problems = new WeakMap<ServiceConnection, { problem: string | undefined }>();

/** What is wrong with the certificates in `spec.caBundle`, in a sentence; each version of a connection is read once. */
export function caBundleProblem(connection: ServiceConnection): string | undefined {
  const { caBundle } = connection.spec;
  if (caBundle === undefined) return undefined;
  const known = problems.get(connection) ?? { problem: problemIn(caBundle) };
  problems.set(connection, known);
  return known.problem;
}

function problemIn(pem: string): string | undefined {
  const begins = pem.split("-----BEGIN CERTIFICATE-----").length - 1;
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? [];
  const broken = blocks.findIndex((block) => !isCertificate(block));
  if (broken === -1 && blocks.length === begins) return undefined;
  const which = broken === -1 ? "A certificate" : `Certificate ${broken + 1} of ${begins}`;
  return `${which} in spec.caBundle cannot be read. Put the authority's certificates there whole, each from -----BEGIN CERTIFICATE----- to -----END CERTIFICATE-----.`;
}

function isCertificate(block: string): boolean {
  try {
    return new X509Certificate(block).raw.length > 0;
  } catch {
    return false;
  }
}
