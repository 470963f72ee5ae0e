import { X509Certificate } from "node:crypto";
import type { Connection } from "../resources/cluster-service-connection.ts";
import { memoize } from "../runtime/memoize.ts";
import { unreachable } from "./messages.ts";

/** The message about an unreadable certificate in `spec.caBundle`; `undefined` if all can be read. */
export const caBundleProblem = memoize(({ spec: { caBundle } }: Connection) =>
  caBundle === undefined ? undefined : problemIn(caBundle),
);

function problemIn(pem: string): string | undefined {
  const begins = pem.split("-----BEGIN CERTIFICATE-----").length - 1;
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? [];
  const broken = blocks.findIndex((block) => !isCertificate(block));
  if (broken === -1 && blocks.length === begins) return undefined;
  const which = broken === -1 ? "A certificate" : `Certificate ${broken + 1} of ${begins}`;
  return unreachable.caBundle(which);
}

function isCertificate(block: string): boolean {
  try {
    return new X509Certificate(block).raw.length > 0;
  } catch {
    return false;
  }
}
